"""Parts of ``benchmarks.observed``."""
