"""The parts of ``benchmarks.colours``: the sheet of crops that a person has read."""
