"""The cost of each way to run a network on this machine, and how far its answers agree with the reference.

Read in this order: ``profiler``, ``contenders``, ``timing``, ``agreement``, ``footprint``, ``in_service``, ``contest``.
"""
