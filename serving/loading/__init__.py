"""Which networks are in memory: loaded when they are asked for, evicted where others need their memory.

Read in this order: ``loader``, ``opening``, ``rewriting``, ``proofs``, ``rectangles``, ``thread_choice``,
``residency``, ``request_shares``, ``eviction``.
"""
