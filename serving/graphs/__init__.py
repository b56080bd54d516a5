"""ONNX graphs as data: where they can be cut, what they share, and how they are folded or quantised. Knows
no engine and no PyTorch.

Read in this order: ``dataflow``, ``shapes``, ``cut_points``, ``segments``, ``taps``, ``prefix``,
``fold``, ``quantise``, ``surgery``.
"""
