"""Heads: small classifiers over a compact network's features, for a few dominant classes and "other".

Read in this order: ``head``, ``enough``, ``train``, ``validate``.
"""
