"""Decisions for each frame before its nodes run: which model, which shortcuts, and in how much time. Pure.

Read in this order: ``planner``, ``options``, ``budgets``, ``plan``, ``replanning``, ``within_budgets``,
``within_states``, ``pace``, ``switches``, ``node_times``, ``latency_split``,
``stage_shares``.
"""
