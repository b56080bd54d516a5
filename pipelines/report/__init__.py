"""Tells people of a run or a worker: counts, percentiles, lines, pictures. Most of it is pure and takes results as
they come.

Read in this order: ``run_counts``, ``tracks``, ``looks``, ``static_objects``, ``percentiles``,
``run_report``, ``text``, ``result_lines``, ``one_frame``, ``watch_view``, ``minute``, ``timelines``,
``specialization_text``, ``plots``.
"""
