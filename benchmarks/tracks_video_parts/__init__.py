"""Parts of ``benchmarks/tracks_video.py``: what is shown, and how well its tracks were answered."""
