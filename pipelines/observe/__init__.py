"""The outside of a running process: metrics, its health over HTTP, the live page, and who may ask.
Messages to other systems about events, and evidence that is kept on disk, lie here too.

Read in this order: ``metrics``, ``web``, ``live``, ``station``, ``watchers``, ``forward``, ``record``.
"""
