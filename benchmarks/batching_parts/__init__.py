"""Parts of ``benchmarks/batching.py``."""
