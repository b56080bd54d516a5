"""The backbone of YOLOX-nano as a classifier, and a start from that detector's weights.

Ge et al., 2021: CSPDarknet of a quarter of the width, with separable convolutions. The public detector's file has
batch normalisation folded into its convolutions, so this network has none.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from tools.shipped.classifier import Classifier, Late

START = "weights/yolox_nano.onnx"
WIDTHS = (16, 32, 64, 128, 256)
"""Channels behind the stem and behind every stage; each halves width and height."""
DEPTHS = (1, 3, 3, 1)
EARLY = 1
"""Stages that stay as the detector has them."""


class Conv(nn.Sequential):
    """A convolution and SiLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        padding = (kernel - stride + 1) // 2
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups), nn.SiLU())


def separable(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """A 3×3 convolution of each channel by itself, then one across channels."""
    return nn.Sequential(Conv(inputs, inputs, 3, stride, groups=inputs), Conv(inputs, outputs, 1))


class Bottleneck(nn.Module):
    """Two convolutions, with the input added where asked."""

    def __init__(self, width: int, residual: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(Conv(width, width, 1), separable(width, width))
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        found: Tensor = self.body(x)
        return found + x if self.residual else found


class Csp(nn.Module):
    """Half of the channels pass bottlenecks, the others pass by (Wang et al., 2020)."""

    def __init__(self, width: int, depth: int, residual: bool) -> None:
        super().__init__()
        self.deep, self.short = Conv(width, width // 2, 1), Conv(width, width // 2, 1)
        self.body = nn.Sequential(*(Bottleneck(width // 2, residual) for _ in range(depth)))
        self.out = Conv(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        deep, short = self.deep(x), self.short(x)
        found: Tensor = self.out(torch.cat((self.body(deep), short), dim=1))
        return found


class Pyramid(nn.Module):
    """Pooled over three windows, beside the input (He et al., 2015)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow, self.out = Conv(width, width // 2, 1), Conv(2 * width, width, 1)
        self.pools = nn.ModuleList(nn.MaxPool2d(size, 1, size // 2) for size in (5, 9, 13))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        x = self.narrow(x)
        found: Tensor = self.out(torch.cat((x, *(pool(x) for pool in self.pools)), dim=1))
        return found


def darknet(classes: int) -> Classifier:
    """Stem and four stages, of which the ``early`` one stays."""
    # Four neighbouring pixels side by side as channels, then 3×3: the same products as 6×6 with a stride of two.
    early = nn.Sequential(Conv(3, WIDTHS[0], 6, 2), *(_stage(number) for number in range(EARLY)))
    middle = nn.Sequential(*(_stage(number) for number in range(EARLY, len(DEPTHS) - 1)))
    return Classifier(early, Late(middle, _stage(len(DEPTHS) - 1), WIDTHS[-2:], classes))


def _stage(number: int) -> nn.Sequential:
    inputs, outputs = WIDTHS[number], WIDTHS[number + 1]
    last = number == len(DEPTHS) - 1
    pyramid = [Pyramid(outputs)] if last else []
    return nn.Sequential(separable(inputs, outputs, 2), *pyramid, Csp(outputs, DEPTHS[number], residual=not last))


def start_darknet(network: Classifier, data: Path) -> None:
    """Take over the backbone of ``yolox_nano.onnx`` of the sample data."""
    graph = onnx.load(data / START).graph
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = [[known[name] for name in node.input[1:3]] for node in graph.node if node.op_type == "Conv"]
    with torch.no_grad():
        for convolution, (kernel, bias) in zip(_in_order(network), weights, strict=False):
            stem = convolution.kernel_size == (6, 6)
            convolution.weight.copy_(torch.tensor(255 * _spread(kernel) if stem else kernel))
            assert convolution.bias is not None
            convolution.bias.copy_(torch.tensor(bias))


def _in_order(network: nn.Module) -> list[nn.Conv2d]:
    """The convolutions as the data pass them, which is how the detector's graph lists them."""
    order: list[nn.Conv2d] = []
    hooks = [
        module.register_forward_hook(lambda conv, *_: order.append(conv))
        for module in network.modules()
        if isinstance(module, nn.Conv2d)
    ]
    with torch.no_grad():
        network(torch.zeros(2, 3, 64, 64))
    for hook in hooks:
        hook.remove()
    return order


def _spread(kernel: NDArray[np.float32]) -> NDArray[np.float32]:
    """O × 12 × 3 × 3 over the four pixels of each square → O × 3 × 6 × 6 over the pixels themselves."""
    wide = np.zeros((len(kernel), 3, 6, 6), np.float32)
    for place, (down, across) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        wide[:, :, down::2, across::2] = kernel[:, 3 * place : 3 * place + 3]
    return wide
