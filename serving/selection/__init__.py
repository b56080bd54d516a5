"""Which variant to run when requirements are named and no model is. Pure; ``sluice models select`` asks it.
Frames are planned in ``pipelines/planning``.

Read in this order: ``table``, ``records``, ``select``, ``closest``.
"""
