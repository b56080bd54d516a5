"""Windowed ε-Greedy: when to specialise to which classes, and when to stop (Shen, 2019, §5.3.2, algorithm 5.1). Pure.

Read in this order: ``algorithm``, ``config``, ``state``, ``window``, ``dominance``, ``candidates``, ``adaptive``,
``change``.
"""
