"""Early exits of a network while it serves: how sure each must be.

Read in this order: ``record``, ``thresholds``, ``certify``.
"""
