"""Networks that never return: how long to wait for them, and what becomes of their threads.

Read in this order: ``patience``, ``watched``, ``abandoned``.
"""
