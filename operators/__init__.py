"""Stream operators: capture, detect, track, recognise, publish; the wire schema; the transports."""
