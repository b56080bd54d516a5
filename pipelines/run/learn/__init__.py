"""``sluice learn`` without the printing: the looks that a recording gives of the objects of a query, the exits that can
be learnt from them, and what these gain.

Read in this order: ``learnable``, ``taken``, ``recording``, ``pictures``, ``costs``, ``choice``,
``learning``.
"""
