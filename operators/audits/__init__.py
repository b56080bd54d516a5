"""What all nodes with audited models have in common: which model is the oracle, what a look by each costs, the audits
of a stream, which streams there are, how they are published, and how they survive a restart.

Read in this order: ``roles``, ``unit_costs``, ``stream_audits``, ``streams``, ``audit_report``, ``snapshot``.
"""
