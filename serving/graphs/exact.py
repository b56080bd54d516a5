"""Nodes that stay as they are when a network is made smaller: they compute in float32 with the weights they have."""

from __future__ import annotations

import onnx

EXACT = "exact/"
"""How the names of such nodes begin. Quantisation and factorisation leave them out."""


def is_exact(node: onnx.NodeProto) -> bool:
    """Whether the node is to be left alone."""
    return bool(node.name.startswith(EXACT))
