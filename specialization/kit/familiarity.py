"""Doubt where nothing alike was learnt: a network names only what looks like the pictures that it learnt from.

Confidence does not tell an unknown view apart: a softmax compares classes with each other, and a vehicle at eye level
is more of a lorry than of anything else. What tells it is the relative Mahalanobis distance (Ren et al., 2021) of the
features before the last layer: how much further they lie from the nearest class than from all that was learnt, each in
its own spread,

    d(f) = min_k (f - m_k)' P (f - m_k) - (f - m)' Q (f - m)

with P the inverse of the covariance within the classes and Q that of all features. Where d is beyond what most answers
to held-out pictures have, and the network names something, its logits are scaled down: the answer is the same, its
confidence is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from serving.graphs.fold import EXACT, drop_unused, is_exact

SHRINKAGE = 1e-3
"""Added to the variances, as a share of their mean: directions in which nothing varied would rule."""
USUAL = 0.95
"""Share of the certain names for held-out pictures that stay as certain."""
SCALE = 0.6
"""Factor of the logits where nothing alike was learnt: confidences then are about the share that is right."""
CERTAIN = f"{EXACT}certain"
"""The logits before any doubt."""

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Familiarity:
    """The distance as a quadratic form, for features of length F and K classes."""

    square: Rows
    """F × F."""
    linear: Rows
    """K × F."""
    constant: Rows
    """K."""

    @classmethod
    def of(cls, features: Rows, classes: NDArray[np.intp], clear: NDArray[np.bool_]) -> Familiarity:
        """From N × F features of what was learnt, and the class of each; those that are not ``clear`` have none."""
        rows = features.astype(np.float64)
        names, own = np.unique(classes[clear], return_inverse=True)
        means = np.stack([rows[clear][own == each].mean(axis=0) for each in range(len(names))])
        within = _precision(rows[clear] - means[own])
        mean = rows.mean(axis=0)
        overall = _precision(rows - mean)
        linear = 2 * (mean @ overall - means @ within)
        constant = np.einsum("ki,ij,kj->k", means, within, means) - mean @ overall @ mean
        return cls(*(each.astype(np.float32) for each in (within - overall, linear, constant)))

    def distance(self, features: Rows) -> Rows:
        """N × F → N."""
        quadratic = np.einsum("ni,ni->n", features @ self.square, features)
        found: Rows = quadratic + (features @ self.linear.T + self.constant).min(axis=1)
        return found


def _precision(centred: NDArray[np.float64]) -> NDArray[np.float64]:
    covariance = centred.T @ centred / len(centred)
    ridge = SHRINKAGE * np.trace(covariance) / len(covariance)
    inverse: NDArray[np.float64] = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
    return inverse


def features_of(model: onnx.ModelProto) -> str:
    """The tensor that the last matrix product reads."""
    return str(next(node for node in reversed(model.graph.node) if node.op_type == "Gemm").input[0])


def doubting(model: onnx.ModelProto, familiarity: Familiarity, limit: float, other: int | None) -> onnx.ModelProto:
    """A copy whose logits (N × K) are scaled beyond the ``limit``, unless the answer is ``other``, if there is one."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph, output = copy.graph, copy.graph.output[0].name
    features = features_of(copy)
    last = next(node for node in graph.node if output in node.output)
    last.output[list(last.output).index(output)] = CERTAIN
    constants = {
        "square": familiarity.square,
        "linear": familiarity.linear,
        "constant": familiarity.constant,
        "limit": np.float32(limit),
        "scale": np.float32(SCALE),
        "one": np.float32(1),
        "other": np.int64(-1 if other is None else other),
        "axis": np.array([1], np.int64),
    }
    for key, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), EXACT + key))
    graph.node.extend(
        [
            _node("MatMul", "product", features, _own("square")),
            _node("Mul", "products", _own("product"), features),
            _node("ReduceSum", "quadratic", _own("products"), _own("axis"), keepdims=1),
            _node("Gemm", "affine", features, _own("linear"), _own("constant"), transB=1),
            _node("ReduceMin", "nearest", _own("affine"), axes=[1], keepdims=1),
            _node("Add", "distance", _own("quadratic"), _own("nearest")),
            _node("Greater", "unfamiliar", _own("distance"), _own("limit")),
            _node("ArgMax", "said", CERTAIN, axis=1, keepdims=1),
            _node("Equal", "unnamed", _own("said"), _own("other")),
            _node("Not", "named", _own("unnamed")),
            _node("And", "doubtful", _own("unfamiliar"), _own("named")),
            _node("Where", "factor", _own("doubtful"), _own("scale"), _own("one")),
            helper.make_node("Mul", [CERTAIN, _own("factor")], [output], _own("doubt")),
        ]
    )
    onnx.checker.check_model(copy)
    return copy


def certain(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without what ``doubting`` has added, so that it can be added anew."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in [node for node in copy.graph.node if is_exact(node)]:
        copy.graph.node.remove(node)
    for node in copy.graph.node:
        node.output[:] = [copy.graph.output[0].name if name == CERTAIN else name for name in node.output]
    drop_unused(copy.graph)
    return copy


def _own(name: str) -> str:
    return EXACT + name


def _node(kind: str, name: str, *inputs: str, **options: object) -> onnx.NodeProto:
    return helper.make_node(kind, list(inputs), [_own(name)], _own(name), **options)
