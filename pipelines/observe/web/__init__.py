"""One small HTTP server on the event loop: who may connect and ask, and what a process says of its health.

Read in this order: ``listen``, ``gate``, ``server``.
"""
