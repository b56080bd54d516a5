"""The common part of everything that learns while it runs: what it may cost, the numbers that are saved of it, samples
as numbers, a regression, a temperature and a threshold, and a distribution's tails. Exits, recognisers of a user's
crops and audits are built on it.

Read in this order: ``budget``, ``saved``, ``retry_gap``, ``features``, ``softmax_regression``, ``ridge``,
``calibration``, ``binomial``.
"""
