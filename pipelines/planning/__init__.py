"""What is decided for each frame before its nodes run: which model, which shortcuts, and in how much time. Pure.

Read in this order: ``planner``, ``least_times``.
"""
