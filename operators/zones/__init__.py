"""Zones and lines in the picture of a camera: who is inside, who comes, goes and crosses. All of it is pure.

Read in this order: ``geometry``, ``layout``, ``presence``, ``visits``.
"""
