"""From a checked query to running parts: one operator per node, one executor for all streams. A run and a worker open
the same parts here and close them again. Operators are built bottom-up, each by one function of its node's spec and of
the one environment.

Read in this order: ``parts``, ``engine``, ``environment``, ``registry``, ``node``, ``detect``, ``recognise``,
``exits``, ``node_words``, ``planners``, ``choices``, ``paid_inference``,
``spending``, ``trial``.
"""
