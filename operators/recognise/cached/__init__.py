"""The shortcut inside the oracle: learned caches answer at its cut points, and what they do not answer goes through to
the oracle's own end (Balasubramanian et al., 2021).

Read in this order: ``caches``, ``released``, ``cache_network``, ``supply``, ``thresholds``, ``sampled_engine``,
``makers``, ``building``, ``cache_source``, ``own_samples``, ``hearing``, ``made_here``,
``cache_specs``, ``validation``, ``cache_seen``, ``made_elsewhere``, ``cache_kind``.
"""
