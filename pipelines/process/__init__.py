"""Duties of every command to the process that it runs in: signals, a terminal that hostile text cannot act upon, logs
without secrets, limits of memory, and small helpers for asyncio tasks.

Read in this order: ``signals``, ``terminal``, ``safe_console``, ``clicks``,
``extras``, ``heap``, ``tuning``, ``tasks``, ``iterated``.
"""
