"""Learned exits: small classifiers at the cuts of a network, that say what its end would say. They are trained on
samples of its taps, tuned on what they say of those that they have not seen, and kept and sent as one artefact.

Read in this order: ``vocabulary``, ``learned_exit``, ``rows``, ``artefact``, ``files``, ``specs``, ``fit``,
``pooled``, ``heard``, ``tune``.
"""
