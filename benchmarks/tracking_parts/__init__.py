"""Parts of ``benchmarks/tracking.py``: what is tracked, who tracks it, and how well that went."""
