"""What ``benchmarks/fleet.py`` runs and reads: the processes of a fleet, and what they say on the broker.

Read in this order: ``installation``, ``story``, ``findings``.
"""
