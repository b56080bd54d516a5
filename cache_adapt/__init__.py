"""Caches learned inside networks answer for easy inputs, where that pays. The audit keeps measuring how far shortcuts
agree with the oracle.

Read in this order: ``caches``, ``exits``, ``compose``, ``audit``, ``bisection``.
"""
# A part of Sluice.
