"""Shapes and types of a network's tensors, without looking at its weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from serving.common.tensors import TensorSpec

_SMALL = 64
"""Constants of so many elements may be sizes that shapes depend on; larger ones are weights."""


def tensor_specs(model: onnx.ModelProto, source: str) -> Mapping[str, TensorSpec]:
    """Type and shape of every tensor of known rank; a first axis of None is the batch of the input ``source``.

    Other axes are None where the graph leaves their size open. A tensor that does not hold the input's items one by
    one along its first axis has None for none of its axes, or is left out where its size varies with the batch.
    """
    skeleton = _skeleton(model)
    batch = next(value for value in skeleton.graph.input if value.name == source).type.tensor_type.shape.dim[:1]
    if not batch or batch[0].HasField("dim_value"):
        return _inferred(skeleton)
    batch[0].dim_value = 1
    one = _inferred(skeleton)
    batch[0].dim_value = 2
    two = _inferred(skeleton)
    specs = {name: _per_item(spec, two.get(name)) for name, spec in one.items()}
    return {name: spec for name, spec in specs.items() if spec is not None}


def _per_item(one: TensorSpec, two: TensorSpec | None) -> TensorSpec | None:
    """The spec of a tensor at any batch, from its specs for one item and for two."""
    if one == two:
        return None if one.shape[:1] == (None,) else one
    if two is not None and one.shape[:1] == (1,) and two.shape == (2, *one.shape[1:]):
        return TensorSpec(one.dtype, (None, *one.shape[1:]))
    return None


def _inferred(skeleton: onnx.ModelProto) -> dict[str, TensorSpec]:
    graph = onnx.shape_inference.infer_shapes(skeleton, data_prop=True).graph
    tensors = {tensor.name: TensorSpec(_dtype(tensor.data_type), tuple(tensor.dims)) for tensor in graph.initializer}
    values = [*graph.input, *graph.value_info, *graph.output]
    return tensors | {value.name: _spec(value.type.tensor_type) for value in values if _known(value.type)}


def _known(kind: onnx.TypeProto) -> bool:
    tensor = kind.tensor_type
    return bool(tensor.HasField("shape") and tensor.elem_type != TensorProto.UNDEFINED)


def _spec(tensor: onnx.TypeProto.Tensor) -> TensorSpec:
    dims = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    return TensorSpec(_dtype(tensor.elem_type), dims)


def _dtype(elem_type: int) -> np.dtype[np.generic]:
    found: np.dtype[np.generic] = np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))
    return found


def _skeleton(model: onnx.ModelProto) -> onnx.ModelProto:
    """The graph with inputs in place of weights, whose copies would cost more than the inference."""
    graph = model.graph
    small = [tensor for tensor in graph.initializer if np.prod(tensor.dims) <= _SMALL]
    weights = [tensor for tensor in graph.initializer if np.prod(tensor.dims) > _SMALL]
    given = {value.name for value in graph.input}
    as_inputs = [
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in weights
        if tensor.name not in given
    ]
    # What the exporter noted about shapes holds for its own batch: it is inferred anew.
    outputs = [
        helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, None) for value in graph.output
    ]
    bare = helper.make_graph(graph.node, graph.name, [*graph.input, *as_inputs], outputs, small)
    return helper.make_model(bare, opset_imports=model.opset_import, ir_version=model.ir_version)
