"""Which backend serves which models, for how many items a second, and how many backends are wanted: the global
scheduler of Nexus (Shen, 2019, §3.4.1), epoch after epoch. All of it is pure.

Read in this order: ``demands``, ``prefixes``, ``curves``, ``nodes``, ``packing``, ``carrying``, ``shedding``, ``plan``,
``place``.
"""
