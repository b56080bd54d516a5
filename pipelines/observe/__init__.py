"""What people and Prometheus see of a running process: metrics, its health over HTTP, the live page, and who may ask.

Read in this order: ``metrics``, ``web``, ``live``, ``station``.
"""
