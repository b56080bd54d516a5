"""Budgets for a day, of money, energy or bytes (MCDNN; Shen, 2019, ch. 4): the share of what is left that each request
may cost, the cost of work, and the file in which a day's spending survives a restart.

Read in this order: ``prices``, ``frequency``, ``shares``, ``terms``, ``day_budget``,
``ledger``, ``node_spending``, ``energy``.
"""
