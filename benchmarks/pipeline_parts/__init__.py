"""What ``benchmarks.pipeline`` is made of: the arithmetic, the runs that are measured, and their floor."""
