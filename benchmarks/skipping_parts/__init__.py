"""What the skipping benchmark replays.

Read in this order: ``recorded``, ``replay``.
"""
