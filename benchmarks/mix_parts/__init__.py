"""How the cheapest mix of variants for a load is found.

Read in this order: ``cheapest``.
"""
