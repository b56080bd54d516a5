"""Cuts of a quantised network (Q and DQ nodes): the tensor handed over is rounded on both sides of the cut.

A runtime computes in int8 where it finds an operator between DQ and Q. Cut right behind the operator, the Q would be
left to the next segment, and the operator to float32. Rounding twice on the same scale changes nothing.
"""

from __future__ import annotations

from serving.graphs.dataflow import Dataflow, operands


def handed_over(flow: Dataflow, cut: str) -> str:
    """The tensor that a segment ends with: ``cut`` itself, or its rounded form where nothing reads it but a Q."""
    quantised = _only_reader(flow, cut, "QuantizeLinear")
    return (quantised and _only_reader(flow, quantised, "DequantizeLinear")) or cut


def _only_reader(flow: Dataflow, name: str, kind: str) -> str | None:
    """The first output of a tensor's readers, where all readers are of one kind."""
    readers = [node for node in flow.nodes if name in operands(node)]
    return readers[0].output[0] if readers and all(node.op_type == kind for node in readers) else None
