"""What people and Prometheus see of a running process: metrics, its health over HTTP, the live page, and who may ask.
What other systems are told of events, and evidence that is kept on disk, lies here too.

Read in this order: ``metrics``, ``web``, ``live``, ``station``, ``forward``, ``record``.
"""
