"""Who runs next on the device, with whom in one batch, and who is given up. All decisions are pure; ``device`` is the
thread that carries them out.

Read in this order: ``limits``, ``requests``, ``estimates``, ``batching``, ``look_ahead``, ``duty_cycle``, ``schedule``,
``device``, ``health``.
"""
