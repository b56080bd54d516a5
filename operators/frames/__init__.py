"""The frame as operators see it, its way on and off the wire, and the limits of every picture that is decoded.

Read in this order: ``jpeg_picture``, ``planes``, ``frame``, ``polygon``, ``mask``, ``codec``, ``crops``,
``media_stopwatch``, ``changes``.
"""
