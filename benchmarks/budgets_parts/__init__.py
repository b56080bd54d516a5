"""A day of requests under budgets, and those that decide for each of them: the product, the paper's rule, static ones.

Read in this order: ``day``, ``offers``, ``deciders``.
"""
