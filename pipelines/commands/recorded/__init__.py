"""The subcommands that look once more at what was written before: results, and recordings.

Read in this order: ``explain``, ``replay``.
"""
