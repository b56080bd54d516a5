"""Figures for Prometheus: an observer that counts what happens, and figures that are looked up when Prometheus asks.

Read in this order: ``families``, ``causes``, ``tallies``, ``recorder``, ``scrape``.
"""
