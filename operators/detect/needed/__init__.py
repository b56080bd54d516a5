"""A detector that runs where it is needed: else the objects that it found are moved by what the pixels did. Audited.

Read in this order: ``policy``, ``thumbnail``, ``changes``, ``flow``, ``carried``, ``matching``, ``reach``,
``bisection``, ``window``, ``stream``, ``pace``, ``account``, ``audits``, ``report``, ``snapshot``, ``ahead``,
``operator``.
"""
