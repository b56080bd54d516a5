"""Which variants serve a load for least, by the programme of Romero et al., 2021, §4.2; how many workers there should
be, and when offline work may run. Pure: it is told the load, and hands back plain data.

Read in this order: ``cheapest``, ``machines``.
"""
