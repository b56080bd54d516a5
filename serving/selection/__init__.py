"""Which variant to run when requirements are named and no model is. Pure; nodes that name no model
ask it, by ``pipelines/planning/within_states.py``.

Read in this order: ``table``, ``select``, ``closest``.
"""
