"""Learned caches: small classifiers that read a network's activations and answer in its place where they are sure.

Read in this order: ``architectures``, ``predictor``, ``selector``, ``learned_cache``, ``store``, ``training``,
``held``, ``calibrate``, ``explore``, ``build``, ``untuned``, ``tune``, ``newest``, ``retune``, ``worth``, ``job``,
``child``.
"""
