"""Learned exits: small classifiers at the cuts of a network, that say what its end would say. They are trained on
samples of its taps, tuned on what they say of later ones, and kept and sent as one artefact.

Read in this order: ``vocabulary``, ``learned_exit``, ``artefact``,
``files``, ``rows``, ``specs``, ``fit``, ``pooled``, ``heard``, ``tune``, ``job``, ``kind``.
"""
