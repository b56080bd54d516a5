"""MobileNetV2 (Sandler et al., 2018), named as in torchvision (``features.1.conv.0.0``, …, ``classifier.1``)."""

from __future__ import annotations

from torch import Tensor, nn

from tools.architectures.initialise import initialise

# expansion, channels, blocks, stride of the first block: table 2 of the paper.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
FIRST, LAST = 32, 1280


class InvertedResidual(nn.Module):
    """1×1 expansion, 3×3 convolution per channel, linear 1×1 projection; a skip branch where the shape stays."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.residual = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            *([_convolution(inputs, inner, 1)] if expansion > 1 else []),
            _convolution(inner, inner, 3, stride, groups=inner),
            nn.Conv2d(inner, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        """N × inputs × H × W → N × outputs × H/stride × W/stride."""
        y: Tensor = self.conv(x)
        return x + y if self.residual else y


class MobileNetV2(nn.Module):
    """Stem, seventeen inverted residuals, a wide 1×1 convolution, mean over the plane, linear classifier."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [_convolution(3, FIRST, 3, stride=2)]
        channels = FIRST
        for expansion, width, blocks, stride in STAGES:
            for block in range(blocks):
                layers.append(InvertedResidual(channels, width, stride if block == 0 else 1, expansion))
                channels = width
        self.features = nn.Sequential(*layers, _convolution(channels, LAST, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(LAST, classes))
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        logits: Tensor = self.classifier(self.features(x).mean((2, 3)))
        return logits


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    )
