"""The thin residual networks for 32 × 32 images: ResNet-20, 32, 44, 56 (He et al., 2016, §4.2).

Parameters are named as in Idelbayev's public weights (``conv1``, ``layer1.0.conv1``, …, ``linear``). Skip branches have
none: where the shape changes they take every other pixel and add channels of zeros (option A).
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from tools.architectures.initialise import initialise
from tools.architectures.resnet import BasicBlock, start_as_shortcuts

WIDTHS = (16, 32, 64)


class Subsample(nn.Module):
    """Every other pixel, with as many channels of zeros before as behind."""

    def __init__(self, padding: int) -> None:
        super().__init__()
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        """N × C × H × W → N × (C + 2·padding) × ⌈H/2⌉ × ⌈W/2⌉."""
        return functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.padding, self.padding))


def parameterless(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The identity, or where the resolution halves, its subsampling."""
    return nn.Identity() if stride == 1 and inputs == outputs else Subsample((outputs - inputs) // 2)


class CifarResNet(nn.Module):
    """3×3 stem, three stages of ``depth`` blocks, mean over the plane, linear classifier: 6·depth + 2 layers."""

    def __init__(self, classes: int, depth: int) -> None:
        super().__init__()
        channels = WIDTHS[0]
        self.conv1 = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.layer1 = _stage(channels, WIDTHS[0], depth, stride=1)
        self.layer2 = _stage(WIDTHS[0], WIDTHS[1], depth, stride=2)
        self.layer3 = _stage(WIDTHS[1], WIDTHS[2], depth, stride=2)
        self.linear = nn.Linear(WIDTHS[2], classes)
        initialise(self)
        start_as_shortcuts(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        x = functional.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        logits: Tensor = self.linear(x.mean((2, 3)))
        return logits


def _stage(inputs: int, width: int, depth: int, stride: int) -> nn.Sequential:
    first = BasicBlock(inputs, width, stride, parameterless)
    return nn.Sequential(first, *(BasicBlock(width, width, 1, parameterless) for _ in range(depth - 1)))
