"""What the benchmarks of replanning compare the worker with, and the real networks that one of them runs.

Read in this order: ``plan``, ``networks``, ``frames``.
"""
