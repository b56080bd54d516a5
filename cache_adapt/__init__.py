"""Exits learned inside networks answer for easy inputs, where that pays. The audit keeps measuring how far shortcuts
agree with the oracle. Adaptation trains anew what shortcuts have learnt, on what cameras show now.

Read in this order: ``exits``, ``learned``, ``adaptation``, ``audit``, ``bisection``.
"""
