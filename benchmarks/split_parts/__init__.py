"""What ``split`` compares the best split with: splits that are given, and the even one.

Read in this order: ``given``.
"""
