"""What people and Prometheus see of a running process: metrics, its health over HTTP, and who may ask for them.

Read in this order: ``metrics``, ``web``, ``station``.
"""
