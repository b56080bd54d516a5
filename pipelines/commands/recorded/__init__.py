"""The subcommands that look at what was written before: recordings and their results.

Read in this order: ``submit``, ``explain``, ``replay``.
"""
