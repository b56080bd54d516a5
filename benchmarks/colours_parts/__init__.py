"""The parts of ``benchmarks.colours``: the sheet of crops that were read by eye."""
