"""The architectures we train: residual networks (He et al., 2016), at full and at thin width.

Parameters are named as in torchvision (``conv1``, ``bn1``, ``layer1.0.conv1``, …, ``fc``), so public weights fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut; halves the resolution where ``stride`` is 2."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """N × inputs × H × W → N × outputs × H/stride × W/stride."""
        inner = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(inner)) + self.downsample(x))


class ResNet(nn.Module):
    """Stem, one stage of blocks per width, mean over the plane, linear classifier; any input size."""

    def __init__(self, classes: int, widths: Sequence[int], blocks: int, wide_stem: bool) -> None:
        super().__init__()
        first = widths[0]
        kernel = 7 if wide_stem else 3
        self.conv1 = nn.Conv2d(3, first, kernel, 2, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.maxpool: nn.Module = nn.MaxPool2d(3, 2, 1) if wide_stem else nn.Identity()
        self.stages = [f"layer{i}" for i in range(1, len(widths) + 1)]
        for name, inputs, outputs in zip(self.stages, (first, *widths), widths, strict=False):
            stride = 1 if name == "layer1" else 2
            rest = [Block(outputs, outputs, 1) for _ in range(blocks - 1)]
            self.add_module(name, nn.Sequential(Block(inputs, outputs, stride), *rest))
        self.fc = nn.Linear(widths[-1], classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        x = self.maxpool(functional.relu(self.bn1(self.conv1(x))))
        for name in self.stages:
            x = self.get_submodule(name)(x)
        logits: Tensor = self.fc(x.mean((2, 3)))
        return logits


def _initialise(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, Block):
            # Every block starts as its shortcut: training from scratch is steadier (Goyal et al., 2017, §5.1).
            nn.init.zeros_(module.bn2.weight)


def resnet18(classes: int) -> ResNet:
    """ResNet-18, 11.2 million parameters."""
    return ResNet(classes, (64, 128, 256, 512), blocks=2, wide_stem=True)


def thin_resnet(classes: int) -> ResNet:
    """Four thin stages behind a 3×3 stem, 0.44 million parameters."""
    return ResNet(classes, (16, 32, 64, 88), blocks=2, wide_stem=False)


def tiny_resnet(classes: int) -> ResNet:
    """Three thin stages of two blocks, 0.1 million parameters."""
    return ResNet(classes, (12, 24, 48), blocks=2, wide_stem=False)


def warm_start(network: ResNet, weights: Path) -> None:
    """Take over the weights of an equal network with a 3×3 stem and another classifier (a safetensors file).

    The stem's kernels are stretched to this network's, whose finer input shows the same patterns larger.
    """
    state = {name: tensor.float() for name, tensor in load_file(weights).items() if not name.startswith("fc.")}
    kernel = network.conv1.kernel_size[0]
    stretched = functional.interpolate(
        state["conv1.weight"], size=(kernel, kernel), mode="bilinear", align_corners=True
    )
    state["conv1.weight"] = stretched * (9 / kernel**2)
    network.load_state_dict(state, strict=False)


def multiply_adds(network: nn.Module, size: int) -> int:
    """Multiply-adds of the convolutions and the classifier for one image of ``size`` × ``size`` pixels."""
    total = 0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        weight = module.weight
        assert isinstance(weight, Tensor)
        total += weight.numel() * (output.shape[2] * output.shape[3] if output.ndim == 4 else 1)

    layers = [module for module in network.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    network.eval()
    with torch.inference_mode():
        network(torch.zeros(1, 3, size, size))
    for hook in hooks:
        hook.remove()
    return total
