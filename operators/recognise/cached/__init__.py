"""The shortcut inside the oracle: learned caches answer at its cut points, and what they do not answer goes through to
the oracle's own end (Balasubramanian et al., 2021).

Read in this order: ``caches``, ``cache_network``, ``supply``, ``own_samples``, ``sampled_engine``.
"""
