"""Kinds of shortcuts that answer before the oracle, and what all of them have in common. A new kind
is one file that keeps the contract in ``shortcut``, and one line in ``pipelines/assembly/links.py``.

Read in this order: ``shortcut``, ``variant``, ``postponed``, ``oracle``, ``tally``, ``specialization_report``.
"""
