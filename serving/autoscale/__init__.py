"""Which variants run where and how many, and how many machines that takes (Romero et al., 2021, §4.2). Pure: it is told
the time and the load, and hands back plain data; processes are others' to start.

Read in this order: ``headroom``, ``state``, ``terms``, ``decision``, ``machine_file``, ``held``, ``programme``,
``greedy``, ``exact``, ``autoscale``, ``actions``, ``machines``.
"""
