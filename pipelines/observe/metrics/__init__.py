"""Figures for Prometheus: an observer that counts what happens, and what is looked up only when somebody asks.

Read in this order: ``families``, ``causes``, ``stream_names``, ``tallies``, ``recorder``, ``standing``,
``evidence``.
"""
