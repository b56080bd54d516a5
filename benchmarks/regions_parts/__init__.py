"""What the benchmark of regions compares.

Read in this order: ``packing``, ``looking``, ``scores``.
"""
