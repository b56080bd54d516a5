"""What composition is compared with: the integer program, and the paper's relaxation of it.

Read in this order: ``program``, ``relaxation``.
"""
