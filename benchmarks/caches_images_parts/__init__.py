"""Parts of ``benchmarks/caches_images.py``: networks with pictures, the ways to run them, the plot."""
