"""What ``benchmarks.caches_locality`` is made of.

Read in this order: ``streams``, ``images``, ``ways``, ``plot``.
"""
