"""Whether a process is alive and makes progress: a verdict from observations, and the file that ``sluice health``
reads.

Read in this order: ``liveness``, ``heartbeat``.
"""
