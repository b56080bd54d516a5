"""Pictures of what a run or a measurement found. Matplotlib is imported only where one is drawn.

Read in this order: ``timeline``, ``plans``, ``networks``.
"""
