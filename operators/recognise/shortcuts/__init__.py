"""Kinds of shortcuts that answer before the oracle, what all of them have in common, and the record of
them on a stream. A new kind is one file that keeps the contract in ``shortcut``, and one line in
``pipelines/assembly/links.py``.

Read in this order: ``shortcut``, ``variant``, ``postponed``, ``oracle``, ``node_stream``, ``settling``,
``tally``.
"""
