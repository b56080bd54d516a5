"""Which variant to run when requirements are named and no model is. Pure; read by ``sluice models select`` today and by
the planner later.

Read in this order: ``table``, ``records``, ``select``, ``closest``, ``mix``.
"""
