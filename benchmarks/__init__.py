"""Measurements: each claim of speed has one, `python -m benchmarks.NAME`."""
