"""A detector that runs where it is needed: else its objects are moved by their motion or the pixels. Audited.

Read in this order: ``policy``, ``flow``, ``carried``, ``matching``, ``bisection``, ``doubt``, ``window``, ``stream``,
``pace``, ``account``, ``audits``, ``needed_stream``, ``ahead``, ``operator``.
"""
