"""From a source's URI to sampled frames: decode, sample, gate, watch, reconnect. The public door is ``service``."""
