"""Seeded fuzz of every topic that Sluice reads: ``python -m tests.fuzz.run --messages 50000 --seed 7``."""
