"""Every engine at every precision, and the small network they all run, for the contract that holds for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import nn

from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.engine import Engine
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.openvino import OpenVinoEngine
from serving.errors import ModelError
from serving.graphs.cut_points import cut_points
from serving.graphs.quantise import quantised
from serving.graphs.segments import split
from tools.architectures.export import to_onnx
from tools.architectures.resnet import CIFAR, ResNet

SIDE = 16
ITEM = (3, SIDE, SIDE)


@dataclass(frozen=True)
class Kind:
    """An engine at one precision; ``tolerance``: of its outputs, as a share of the reference's spread."""

    name: str
    precision: Precision
    tolerance: float
    make: Callable[[], Engine]

    def __str__(self) -> str:
        return f"{self.name}-{self.precision}"

    def segments(self, cuts: int) -> list[bytes]:
        """The network, cut at so many points."""
        model = int8() if self.precision == "int8" else fp32()
        pieces = split(model, [point.tensor for point in spread(cut_points(model), cuts)])
        return [piece.SerializeToString() for piece in pieces]

    def load(self, segments: Sequence[bytes]) -> Engine:
        """An engine with these segments; skips where this machine cannot run it."""
        engine = self.make()
        try:
            engine.load(segments)
        except ModelError as error:
            if "does not compute in" in str(error):
                pytest.skip(str(error))
            raise
        return engine


def _onnxruntime(precision: Precision) -> Engine:
    return OnnxRuntimeEngine("net", threads=2, precision=precision)


def _openvino(precision: Precision) -> Engine:
    pytest.importorskip("openvino", reason="the extra 'openvino' is not installed")
    return OpenVinoEngine("net", threads=2, precision=precision)


def _kind(name: str, make: Callable[[Precision], Engine], precision: Precision, tolerance: float) -> Kind:
    return Kind(name, precision, tolerance, lambda: make(precision))


KINDS = [
    _kind("onnxruntime", _onnxruntime, "fp32", 1e-5),
    _kind("onnxruntime", _onnxruntime, "int8", 0.1),
    _kind("openvino", _openvino, "fp32", 1e-5),
    _kind("openvino", _openvino, "bf16", 0.03),
    _kind("openvino", _openvino, "int8", 0.1),
]
ONNX_KINDS = [kind for kind in KINDS if kind.precision == "fp32"]


def items(count: int, seed: int = 0) -> Array:
    """So many random items."""
    return np.random.default_rng(seed).normal(size=(count, *ITEM)).astype(np.float32)


def spread(points: Sequence[Any], count: int) -> list[Any]:
    """So many of the points, evenly."""
    return [points[len(points) * (index + 1) // (count + 1)] for index in range(count)]


@cache
def network() -> nn.Module:
    """Two residual blocks, whose normalisations change what goes through them."""
    torch.manual_seed(0)
    net = ResNet(5, (1, 1), CIFAR, (16, 32)).eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            for statistic, low, high in ((module.running_mean, -0.5, 0.5), (module.running_var, 0.5, 1.5)):
                assert statistic is not None
                nn.init.uniform_(statistic, low, high)
    return net


@cache
def fp32() -> onnx.ModelProto:
    """The network as ONNX."""
    return to_onnx(network(), SIDE)


@cache
def int8() -> onnx.ModelProto:
    """The network quantised, calibrated on other items than the tests run."""
    return quantised("net", fp32(), items(32, seed=1))


def reference(batch: Array) -> Array:
    """The network's answers from a plain ONNX Runtime session."""
    session = ort.InferenceSession(fp32().SerializeToString(), providers=["CPUExecutionProvider"])
    answers: list[Array] = session.run(None, {session.get_inputs()[0].name: batch})
    return answers[0]
