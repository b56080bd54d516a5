"""Which learned caches to build into which variant of a network: the least expected latency that keeps an agreement.

Read in this order: ``problem``, ``compose``, ``rivals``.
"""
