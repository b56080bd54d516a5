"""Tells people of a run or a worker: counts, percentiles, lines, pictures. Most of it is pure and takes results as
they come.

Read in this order: ``tracks``, ``run_report``, ``run_counts``,
``text``, ``recorded``, ``explanation``, ``minute``, ``watch_view``.
"""
