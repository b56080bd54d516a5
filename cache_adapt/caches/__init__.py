"""Learned caches for all streams (Balasubramanian et al., 2021 [GATI]): every form of exit is explored at every cut of
a network, composition chooses among them, and the chosen ones are built and calibrated together.

Read in this order: ``training``, ``held``, ``calibrate``, ``explore``, ``build``, ``lookup``.
"""
