"""Parts of ``benchmarks/exits_video.py``: what is shown, once and never again, and what is asked of it; what
exits did in runs of it.

Read in this order: ``cases``, ``scores``, ``settings``, ``rows``, ``plot``.
"""
