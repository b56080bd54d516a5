"""How much of a frame a detector is shown, where ``detail: auto`` leaves that to the stream.

Read in this order: ``dial``, ``stream``.
"""
