"""The audit of one stream and node: which objects to compare, and what the disagreements of late prove. Pure.

Read in this order: ``audit``, ``state``, ``coin``, ``periods``, ``confidence``, ``verdict``, ``alarm``.
"""
