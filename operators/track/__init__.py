"""Gives regions identities that last over frames. The tracker is pure, one instance per stream, and knows neither
frames nor the clock; ``operator`` is the node that drives it.

Read in this order: ``tracker``, ``kalman``, ``association``, ``operator``.
"""
