"""What ``benchmarks.eviction`` is made of: measured networks, and caches of them in virtual time."""
