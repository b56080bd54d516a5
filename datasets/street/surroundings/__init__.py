"""What the street looks like before anything moves: its layout, the ground, the house fronts, and the light over the
day.

Read in this order: ``layout``, ``light``, ``ground``, ``fronts``, ``backdrop``.
"""
