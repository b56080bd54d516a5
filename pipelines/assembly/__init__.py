"""From a checked query to running parts: one operator per node, one executor for all streams. A run and a worker open
the same parts here and close them again.

Read in this order: ``parts``, ``build``, ``detectors``, ``galleries``, ``trial``, ``chains``, ``links``,
``head_links``, ``cache_links``, ``cache_source``, ``tables``, ``choices``, ``planners``, ``shortcuts``,
``head_training``, ``zone_rules``, ``news``.
"""
