"""A compact network up to its last layer.

Read in this order: ``feature_network``.
"""
