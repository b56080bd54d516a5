"""Parts of ``benchmarks.gpu``."""
