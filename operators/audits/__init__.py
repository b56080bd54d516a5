"""The common part of nodes with audited models: which model is the oracle, what a look by each costs, the audits
of a stream, which streams there are, how they are published, and how they survive a restart.

Read in this order: ``roles``, ``unit_costs``, ``streams``, ``audit_report``, ``snapshot``.
"""
