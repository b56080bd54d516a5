"""A part of the benchmarks that measure ``sluice run``: one run of it, in a process of its own."""
