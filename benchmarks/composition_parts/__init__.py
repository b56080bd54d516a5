"""Which learned caches to build into which variant of a network, for the least expected latency that keeps an
agreement; and what that search is compared with: the integer program, and the paper's relaxation of it.

Read in this order: ``problem``, ``compose``, ``rivals``, ``program``, ``relaxation``.
"""
