"""ONNX graphs as data: where they can be cut, what they share, and how they are folded, factorised or quantised. Knows
no engine and no PyTorch.

Read in this order: ``dataflow``, ``shapes``, ``cut_points``, ``segments``, ``taps``, ``digest``, ``prefix``,
``fold``, ``factorise``, ``quantise``, ``surgery``.
"""
