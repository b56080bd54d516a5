"""From a source's URI to sampled frames: open, decode, sample, gate, watch, reconnect. The public door is ``service``.

Read in this order: ``spec``, ``lead_in``, ``outlet``, ``service``, ``run``, ``picture``, ``sources``, ``live``.
"""
