"""The audits of a recognise node: a sample of objects is answered twice, by the shortcut and by the oracle at the very
same looks, and the answers are compared. In the shadow the oracle's answer is published; in service the shortcut's.

Read in this order: ``auditor``, ``node_stream``, ``trial``, ``trials``,
``crossings``, ``second_looks``, ``comparing``.
"""
