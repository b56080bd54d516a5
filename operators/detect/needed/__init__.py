"""A detector that runs where it is needed: else the objects that it found are moved by what the pixels did. Audited.

Read in this order: ``policy``, ``thumbnail``, ``changes``, ``flow``, ``carried``, ``matching``, ``bisection``,
``window``, ``stream``, ``pace``, ``account``, ``identities``, ``audits``, ``report``, ``snapshot``, ``ahead``,
``operator``.
"""
