"""Decisions for each frame before its nodes run: which model, which shortcuts, and in how much time. Pure.

Read in this order: ``planner``, ``options``, ``plan``, ``replanning``, ``within``,
``pace``, ``switches``, ``node_times``, ``latency_split``,
``stage_shares``.
"""
