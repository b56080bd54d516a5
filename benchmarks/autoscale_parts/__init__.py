"""The parts of the benchmark ``autoscale``: profiles, loads, the autoscaler of INFaaS and other ways to scale, and the
simulation of a fleet.

Read in this order: ``state``, ``programme``, ``greedy``, ``exact``, ``profiles``, ``loads``, ``asked``, ``held``,
``decision``, ``actions``, ``wanted``, ``decide``, ``fleet``, ``ways``.
"""
