"""Exits at every place of a network, what they say of streams, and policies that decide which of them answer.

Read in this order: ``places``, ``recorded``, ``fixed``, ``followed``.
"""
