"""Residual networks (He et al., 2016): ResNet-18 to 101 for large and small images, and others by their widths.

Parameters are named as in torchvision (``conv1``, ``bn1``, ``layer1.0.conv1``, …, ``layer1.0.downsample.0``, ``fc``),
so public weights fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from tools.architectures.initialise import initialise

SkipBranch = Callable[[int, int, int], nn.Module]


@dataclass(frozen=True, slots=True)
class Stem:
    """The first convolution, and whether a 3×3 max-pooling of stride 2 follows it."""

    kernel: int
    stride: int
    pool: bool


IMAGENET = Stem(7, 2, pool=True)
CIFAR = Stem(3, 1, pool=False)
WIDTHS = (64, 128, 256, 512)


def projection(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The identity, or a 1×1 convolution where the shape changes (option B of He et al., 2016, §3.3)."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a skip branch; halves the resolution where ``stride`` is 2."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, skip: SkipBranch = projection) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = skip(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """N × inputs × H × W → N × width × H/stride × W/stride."""
        inner = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(inner)) + self.downsample(x))


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions and a skip branch; the 3×3 one strides, as in the public weights."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """N × inputs × H × W → N × 4·width × H/stride × W/stride."""
        inner = functional.relu(self.bn1(self.conv1(x)))
        inner = functional.relu(self.bn2(self.conv2(inner)))
        return functional.relu(self.bn3(self.conv3(inner)) + self.downsample(x))


class ResNet(nn.Module):
    """Stem, one stage of ``depths[i]`` blocks per width, mean over the plane, linear classifier; any input size."""

    def __init__(
        self,
        classes: int,
        depths: Sequence[int],
        stem: Stem = IMAGENET,
        widths: Sequence[int] = WIDTHS,
        block: type[BasicBlock] | type[Bottleneck] = BasicBlock,
    ) -> None:
        super().__init__()
        channels = widths[0]
        self.conv1 = nn.Conv2d(3, channels, stem.kernel, stem.stride, stem.kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.maxpool: nn.Module = nn.MaxPool2d(3, 2, 1) if stem.pool else nn.Identity()
        self.stages = [f"layer{i}" for i in range(1, len(widths) + 1)]
        for name, width, depth in zip(self.stages, widths, depths, strict=True):
            first = block(channels, width, 1 if name == "layer1" else 2)
            channels = width * block.expansion
            self.add_module(name, nn.Sequential(first, *(block(channels, width, 1) for _ in range(depth - 1))))
        self.fc = nn.Linear(channels, classes)
        initialise(self)
        start_as_shortcuts(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        x = self.maxpool(functional.relu(self.bn1(self.conv1(x))))
        for name in self.stages:
            x = self.get_submodule(name)(x)
        logits: Tensor = self.fc(x.mean((2, 3)))
        return logits


def start_as_shortcuts(network: nn.Module) -> None:
    """Let every block start as its skip branch: training from scratch is steadier (Goyal et al., 2017, §5.1)."""
    for module in network.modules():
        if isinstance(module, BasicBlock):
            nn.init.zeros_(module.bn2.weight)
        if isinstance(module, Bottleneck):
            nn.init.zeros_(module.bn3.weight)


def resnet18(classes: int, stem: Stem = IMAGENET) -> ResNet:
    """ResNet-18: 11.7 million parameters with 1000 classes."""
    return ResNet(classes, (2, 2, 2, 2), stem)


def resnet34(classes: int, stem: Stem = IMAGENET) -> ResNet:
    """ResNet-34: 21.8 million parameters with 1000 classes."""
    return ResNet(classes, (3, 4, 6, 3), stem)


def resnet50(classes: int, stem: Stem = IMAGENET) -> ResNet:
    """ResNet-50: 25.6 million parameters with 1000 classes."""
    return ResNet(classes, (3, 4, 6, 3), stem, block=Bottleneck)


def resnet101(classes: int, stem: Stem = IMAGENET) -> ResNet:
    """ResNet-101: 44.5 million parameters with 1000 classes."""
    return ResNet(classes, (3, 4, 23, 3), stem, block=Bottleneck)
