"""Processes of ours beside this one: how they are started, spoken to, and ended.

Read in this order: ``messages``, ``child``, ``parent``.
"""
