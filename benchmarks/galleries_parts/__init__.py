"""Parts of ``benchmarks.galleries``."""
