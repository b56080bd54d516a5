"""Parts of ``benchmarks/whole.py``: the plain loop that it is compared with, and how far two runs agree."""
