"""How the street is drawn: colours, small transparent pictures, a pinhole camera, and solid or rounded things projected
through it.

Read in this order: ``palette``, ``sprite``, ``camera``, ``mesh``, ``figure``, ``things``.
"""
