"""A detector with several models: for each frame the first that has the time and agrees with the oracle.

Read in this order: ``audits``, ``operator``.
"""
