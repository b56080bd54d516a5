"""Trains the last block of a network, taken from its ONNX graph, together with a new last layer; in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from serving.errors import ModelError
from specialization.kit.base import Rows
from specialization.kit.features import Report
from specialization.kit.head import Head, Labels

EPOCHS, BATCH, RATE = 8, 64, 3e-4
SMOOTHING = 0.05
SEED = 29

Attributes = Mapping[str, Any]


class TunedBlock(NamedTuple):
    weights: dict[str, Rows]
    """By their names in the graph."""
    head: Head
    features: Rows
    """N × looks × F of everything the block was given, learnt or not."""


def tuned(
    block: onnx.ModelProto,
    head: Head,
    before: NDArray[np.float16],
    learnt: NDArray[np.intp],
    labels: Labels,
    threads: int,
    report: Report,
) -> TunedBlock:
    """Train on the rows ``learnt`` of N × looks × …, what the block is given; all classes weigh the same.

    Raises ModelError where the block holds an operator that is not known here.
    """
    torch.manual_seed(SEED)
    torch.set_num_threads(threads)
    network = _Block(block, head)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3)
    steps = max(1, EPOCHS * len(learnt) // BATCH)
    pace = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    rng = np.random.default_rng(SEED)
    chances = (1 / np.bincount(labels[learnt]).clip(1))[labels[learnt]]
    chances /= chances.sum()
    for step in range(steps):
        rows = learnt[rng.choice(len(learnt), BATCH, p=chances)]
        given = torch.from_numpy(before[rows, rng.integers(before.shape[1], size=BATCH)].astype(np.float32))
        loss = functional.cross_entropy(network(given), torch.from_numpy(labels[rows]), label_smoothing=SMOOTHING)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        pace.step()
        report("last block", (step + 1) / steps)
    with torch.inference_mode():
        parts = [network.features(torch.from_numpy(some.astype(np.float32))).numpy() for some in before]
    return TunedBlock(network.weights(), network.head(), np.stack(parts))


class _Block(nn.Module):
    """The graph's operators, one after the other, and a linear layer."""

    def __init__(self, block: onnx.ModelProto, head: Head) -> None:
        super().__init__()
        graph = block.graph
        self._nodes = [(node, _attributes(node)) for node in graph.node]
        if unknown := {node.op_type for node, _ in self._nodes} - set(_OPERATORS):
            raise ModelError(f"its last block has {', '.join(sorted(unknown))}, which cannot be trained here")
        constants = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in graph.initializer}
        self._given = next(each.name for each in graph.input if each.name not in constants)
        self._result = graph.output[0].name
        self._named = {
            name: nn.Parameter(torch.from_numpy(values))
            for name, values in constants.items()
            if values.ndim and values.dtype == np.float32
        }
        self._fixed = {name: values for name, values in constants.items() if name not in self._named}
        self._own = nn.ParameterList(self._named.values())
        weights, bias = head
        self._last = nn.Linear(*weights.shape)
        with torch.no_grad():
            self._last.weight.copy_(torch.from_numpy(weights.T.copy()))
            self._last.bias.copy_(torch.from_numpy(bias.copy()))

    def forward(self, given: Tensor) -> Tensor:
        """The block's input → scores."""
        scores: Tensor = self._last(self.features(given))
        return scores

    def features(self, given: Tensor) -> Tensor:
        """The block's input → N × F."""
        values: dict[str, Any] = {**self._fixed, **self._named, self._given: given}
        for node, attributes in self._nodes:
            inputs = [values[name] if name else None for name in node.input]
            values[node.output[0]] = _OPERATORS[node.op_type](attributes, *inputs)
        result: Tensor = values[self._result]
        return result.flatten(1)

    def weights(self) -> dict[str, Rows]:
        """The trained weights, by their names in the graph."""
        return {name: value.detach().numpy() for name, value in self._named.items()}

    def head(self) -> Head:
        return self._last.weight.detach().numpy().T.copy(), self._last.bias.detach().numpy().copy()


def _attributes(node: onnx.NodeProto) -> Attributes:
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def _convolution(given: Attributes, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    top, left, bottom, right = given.get("pads", (0, 0, 0, 0))
    padded = functional.pad(x, (left, right, top, bottom))
    stride, dilation = (tuple(given.get(key, (1, 1))) for key in ("strides", "dilations"))
    return functional.conv2d(padded, weight, bias, stride, 0, dilation, given.get("group", 1))


def _largest(given: Attributes, x: Tensor) -> Tensor:
    top, left, bottom, right = given.get("pads", (0, 0, 0, 0))
    kernel = tuple(given["kernel_shape"])
    padded = functional.pad(x, (left, right, top, bottom), value=-torch.inf)
    return functional.max_pool2d(padded, kernel, tuple(given.get("strides", (1, 1))))


def _mean(given: Attributes, x: Tensor, axes: NDArray[np.int64] | None = None) -> Tensor:
    chosen = given.get("axes") if axes is None else axes.tolist()
    return x.mean(dim=list(chosen or range(x.ndim)), keepdim=bool(given.get("keepdims", 1)))


def _clip(given: Attributes, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    return x.clamp(*(None if each is None else float(each) for each in (low, high)))


_OPERATORS: Mapping[str, Callable[..., Tensor]] = {
    "Conv": _convolution,
    "Relu": lambda given, x: x.relu(),
    "Clip": _clip,
    "Sigmoid": lambda given, x: x.sigmoid(),
    "HardSigmoid": lambda given, x: (given.get("alpha", 0.2) * x + given.get("beta", 0.5)).clamp(0, 1),
    "HardSwish": lambda given, x: functional.hardswish(x),
    "Add": lambda given, x, y: x + y,
    "Mul": lambda given, x, y: x * y,
    "Concat": lambda given, *parts: torch.cat(parts, dim=given["axis"]),
    "MaxPool": _largest,
    "GlobalAveragePool": lambda given, x: x.mean(dim=(2, 3), keepdim=True),
    "ReduceMean": _mean,
    "Flatten": lambda given, x: x.flatten(given.get("axis", 1)),
    "Identity": lambda given, x: x,
}
"""ONNX operators by name: attributes and inputs → output."""
