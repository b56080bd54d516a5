"""What moves along the street, class by class, each drawn once from a generator.

Read in this order: ``cars``, ``vans``, ``pickups``, ``loads``, ``lorries``, ``decals``, ``bikes``, ``people``,
``strays``.
"""
