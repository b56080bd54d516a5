"""Learned caches as in the paper (Balasubramanian et al., 2021 [GATI]): every form of exit is explored at every cut,
composition chooses among them, and the chosen ones are built and calibrated together."""
