"""Segments that begin with a residual block, made ready for ONNX Runtime on CPUs.

Its convolutions keep activations in blocks of channels (NCHWc) and do the addition and activation behind them in the
same pass. A shortcut straight from the segment's input is not in blocks: the addition and the activation are done by
themselves, and data are rearranged three times in place of one. A pooling of one pixel changes nothing, but the runtime
does it in blocks, and both branches read its result: what a cut costs beside the call falls by a third to a half
(``benchmarks/segments.py`` measures all of it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_CHANNELS = 16
"""The largest block; a tensor of other than a multiple is not kept in blocks."""


def with_pooled_input(segment: bytes) -> bytes:
    """The segment with a pooling of one pixel in front, where its input goes to a convolution and to an addition."""
    # The command's help and the workers' start do without it.
    import onnx

    model = onnx.load_from_string(segment)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    name = inputs[0].name if len(inputs) == 1 else ""
    readers = [node for node in graph.node if name in node.input]
    if not {"Conv", "Add"} <= {node.op_type for node in readers} or not _in_blocks(inputs[0]):
        return segment
    pooled = f"{name}.pooled"
    for node in readers:
        node.input[:] = [pooled if each == name else each for each in node.input]
    graph.node.insert(0, onnx.helper.make_node("MaxPool", [name], [pooled], kernel_shape=[1, 1]))
    return bytes(model.SerializeToString())


def _in_blocks(value: onnx.ValueInfoProto) -> bool:
    dims = value.type.tensor_type.shape.dim
    return len(dims) == 4 and dims[1].dim_value > 0 and dims[1].dim_value % _CHANNELS == 0
