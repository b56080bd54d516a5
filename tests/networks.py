"""Networks with weights at random, so that every layer tells in the outputs."""

from __future__ import annotations

import torch
from torch import nn

from tools.architectures.registry import ARCHITECTURES

SHALLOW = (
    *("resnet18", "resnet18-cifar", "resnet50", "cifar-resnet20", "vgg11", "vgg11-bn", "mobilenet-v2"),
    *("o1", "o2", "s1", "s2", "f1", "f2"),
)
"""Architectures that hold every kind of layer and block: the others are deeper, and cost minutes."""


def shaken(network: nn.Module, seed: int = 3) -> nn.Module:
    """The network in evaluation mode, its normalisation away from the identity and no block a mere shortcut."""
    torch.manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.uniform_(module.bias, -0.2, 0.2)
            nn.init.normal_(module.running_mean, std=0.1)  # type: ignore[arg-type]
            nn.init.uniform_(module.running_var, 0.8, 1.5)  # type: ignore[arg-type]
    return network.eval()


def architecture(name: str, classes: int = 5, seed: int = 3) -> nn.Module:
    """An architecture by its name, shaken."""
    torch.manual_seed(seed)
    return shaken(ARCHITECTURES[name].build(classes), seed)
