"""Decisions for each frame before its nodes run: which model, which shortcuts, and in how much time. Pure.

Read in this order: ``planner``, ``options``, ``budgets``, ``plan``, ``replanning``, ``within_budgets``,
``within_states``, ``fallback``, ``pace``, ``switches``, ``node_times``, ``fan_out``, ``latency_split``,
``stage_shares``, ``least_times``.
"""
