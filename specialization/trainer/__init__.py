"""Who trains heads: one job at a time, in a process of its own, so that training can neither stop nor block a worker.

Read in this order: ``job``, ``trainer``, ``process``, ``child``.
"""
