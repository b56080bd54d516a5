"""Live sources. A camera is decoded in a process of its own, so that a decoder that hangs can be killed while the run
goes on.

Read in this order: ``reader``, ``stall``, ``protocol``, ``child``.
"""
