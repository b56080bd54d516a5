"""The cost of looks on each stream of a node, in processor seconds, and whether making them cheaper can pay.

Read in this order: ``books``, ``demand``, ``estimate``, ``outlook``.
"""
