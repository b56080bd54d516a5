"""Early exits of a network while it serves: how sure each must be, and at which places exits are worth having.

Read in this order: ``record``, ``thresholds``, ``certify``, ``ramps``.
"""
