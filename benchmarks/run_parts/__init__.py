"""Parts of the benchmarks that measure ``sluice run``, each run in a process of its own.

Read in this order: ``sluice_run``, ``side_by_side``, ``watched``.
"""
