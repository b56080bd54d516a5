"""Parts of the benchmark of how many cameras a machine holds.

Read in this order: ``search``, ``cameras``, ``results``, ``usage``, ``probe``.
"""
