"""A part of ``benchmarks/caches_video.py``: its plot."""
