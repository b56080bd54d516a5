"""Parts of ``benchmarks/exits_video.py``: what is shown, once and never again, and what is asked of it."""
