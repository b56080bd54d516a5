"""The parts of the benchmark ``autoscale``: profiles, loads, ways to scale, and the simulation of a fleet.

Read in this order: ``profiles``, ``loads``, ``fleet``, ``ways``.
"""
