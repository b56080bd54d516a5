"""One small HTTP server on the event loop: who may connect and ask, what a process says of its health, its metrics.

Read in this order: ``listen``, ``gate``, ``condition``, ``connection``, ``server``, ``scrape``, ``in_thread``.
"""
