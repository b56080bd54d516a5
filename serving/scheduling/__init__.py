"""Who runs next on the device, with whom in one batch, and who is given up. All decisions are pure; ``device`` is the
thread that carries them out.

Read in this order: ``time_limits``, ``requests``, ``urgency``, ``arrivals``, ``waiting_line``, ``latency``,
``rehearsal``, ``batching``, ``look_ahead``, ``duty_cycle``, ``schedule``, ``device``, ``monitor``, ``health``,
``processor_meter``.
"""
