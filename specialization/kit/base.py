"""The network whose features are used: taken apart before its last layer and its last block, and joined again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Entry, read_weights, verify
from serving.errors import ModelError
from serving.graphs.cut_points import cut_points
from serving.graphs.fold import EXACT, drop_unused, folded, halve, is_exact
from serving.graphs.segments import split

Rows = NDArray[np.float32]
Weights = Mapping[str, Rows]
BLOCK_FROM = 0.9
"""The last block begins at the last cut before which no more than this share of the work lies."""
OUTPUT = "logits"
CERTAIN = f"{EXACT}certain"
"""The logits of ``street-kind`` before it doubts what is unlike all that it learnt."""


@dataclass(frozen=True, slots=True)
class Base:
    """A classifier of the catalogue as plain float32, without doubts."""

    card: ModelCard
    model: onnx.ModelProto
    features: str
    """The tensor that the last layer reads."""

    @classmethod
    def of(cls, entry: Entry) -> Base:
        """Open it; ModelError where it is no classifier that ends in a linear layer."""
        verify(entry)
        if entry.card.task != "classify":
            raise ModelError(f"model {entry.card.name!r} is no classifier: choose another --base")
        model = folded(certain(read_weights(entry.path, entry.card)))
        if not any(node.op_type == "Gemm" for node in model.graph.node):
            raise ModelError(f"model {entry.card.name!r} does not end in a linear layer: choose another --base")
        if any(tensor.data_type == onnx.TensorProto.FLOAT16 for tensor in model.graph.initializer):
            raise ModelError(f"model {entry.card.name!r} computes in half precision: choose another --base")
        return cls(entry.card, model, features_of(model))

    def parts(self) -> tuple[onnx.ModelProto, onnx.ModelProto]:
        """The layers before the last block, and the block up to the features."""
        points = [point.tensor for point in cut_points(self.model) if point.share <= BLOCK_FROM]
        if not points or points[-1] == self.features:
            raise ModelError(f"model {self.card.name!r} cannot be cut before its last block: choose another --base")
        body, block, _ = split(self.model, [points[-1], self.features])
        return body, block

    def with_head(self, weights: Rows, bias: Rows, tuned: Weights | None = None) -> onnx.ModelProto:
        """The network with another last layer (F × classes), and other weights in its last block."""
        copy = onnx.ModelProto()
        copy.CopyFrom(self.model)
        graph = copy.graph
        last = next(node for node in reversed(graph.node) if node.op_type == "Gemm")
        place = list(graph.node).index(last)
        del graph.node[place:]
        drop_unused(graph)  # the layer that went may have had the names of the new one
        names = [f"{self.features}.{part}" for part in ("weight", "bias")]
        graph.node.append(onnx.helper.make_node("Gemm", [self.features, *names], [OUTPUT], "head"))
        for name, values in zip(names, (weights, bias), strict=True):
            graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
        for tensor in graph.initializer:
            if tuned is not None and tensor.name in tuned:
                tensor.CopyFrom(numpy_helper.from_array(tuned[tensor.name], tensor.name))
        del graph.output[:]
        graph.output.append(onnx.helper.make_tensor_value_info(OUTPUT, onnx.TensorProto.FLOAT, ["N", len(bias)]))
        del graph.value_info[:]
        drop_unused(graph)
        halve(copy)
        onnx.checker.check_model(copy)
        return copy


def features_of(model: onnx.ModelProto) -> str:
    """The tensor that the last matrix product reads."""
    return str(next(node for node in reversed(model.graph.node) if node.op_type == "Gemm").input[0])


def certain(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without what makes a network doubt, which follows its last layer."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in [node for node in copy.graph.node if is_exact(node)]:
        copy.graph.node.remove(node)
    for node in copy.graph.node:
        node.output[:] = [copy.graph.output[0].name if name == CERTAIN else name for name in node.output]
    drop_unused(copy.graph)
    return copy
