"""What ``benchmarks.weg_synthetic`` is made of: the paper's figures, a model of compact networks, the simulation."""
