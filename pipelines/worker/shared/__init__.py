"""Several queries in one process: they share networks, lanes, and the nodes that are the same.

Read in this order: ``common``, ``identities``.
"""
