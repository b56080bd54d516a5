"""Weights of an exported network back in its module: the ONNX files are all that ships."""

from __future__ import annotations

from typing import TypeVar

import onnx
import torch
from onnx import numpy_helper
from torch import nn

from serving.graphs.fold import folded

M = TypeVar("M", bound=nn.Module)


def fill(module: M, model: onnx.ModelProto) -> M:
    """Give a network the weights of its export; normalisations, which the export has folded, only add."""
    graph = folded(model).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type not in ("Conv", "Gemm"):
            continue
        place = module_of(node.name)
        kernel, bias = (torch.from_numpy(weights[name].copy()) for name in node.input[1:])
        target = module.get_submodule(place)
        assert isinstance(target, nn.Conv2d | nn.Linear)
        target.weight.data = kernel
        if target.bias is not None:
            target.bias.data = bias
        else:
            _only_add(module.get_submodule(normalisation_of(place)), bias)
    return module.eval()


def module_of(node: str) -> str:
    """``/layer4/layer4.0/conv1/Conv`` → ``layer4.0.conv1``: the exporter names a member of a sequence in full."""
    path: list[str] = []
    for part in node.strip("/").split("/")[:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path.pop()
        path.append(part)
    return ".".join(path)


def normalisation_of(convolution: str) -> str:
    """``layer4.0.conv1`` → ``layer4.0.bn1``; ``downsample.0`` → ``downsample.1``."""
    return convolution.replace("conv", "bn").replace("downsample.0", "downsample.1")


def _only_add(normalisation: nn.Module, bias: torch.Tensor) -> None:
    assert isinstance(normalisation, nn.BatchNorm2d)
    assert normalisation.running_mean is not None
    assert normalisation.running_var is not None
    normalisation.weight.data.fill_(1.0)
    normalisation.bias.data = bias
    normalisation.running_mean.fill_(0.0)
    normalisation.running_var.fill_(1.0 - normalisation.eps)
