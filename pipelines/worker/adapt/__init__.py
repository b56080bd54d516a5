"""Adaptation over the broker: what workers send to the adaptation worker and take from it, and the adaptation worker
itself, which trains on the samples of all workers of its query.

Read in this order: ``messages``, ``link``, ``service``, ``process``.
"""
