"""Our own architectures: thin residual networks, and a start from other weights."""

from __future__ import annotations

from pathlib import Path

from torch.nn import functional

from serving.architectures.registry import single_precision
from serving.architectures.resnet import ResNet, Stem

SMALL_STEM = Stem(3, 2, pool=False)


def thin_resnet(classes: int) -> ResNet:
    """Four thin stages behind a 3×3 stem, 0.44 million parameters."""
    return ResNet(classes, (2, 2, 2, 2), SMALL_STEM, widths=(16, 32, 64, 88))


def tiny_resnet(classes: int) -> ResNet:
    """Three thin stages of two blocks, 0.1 million parameters."""
    return ResNet(classes, (2, 2, 2), SMALL_STEM, widths=(12, 24, 48))


def warm_start(network: ResNet, weights: Path) -> None:
    """Take over the weights of an equal network with a 3×3 stem and another classifier (a safetensors file).

    The stem's kernels are stretched to this network's, whose finer input shows the same patterns larger.
    """
    state = {name: tensor for name, tensor in single_precision(weights).items() if not name.startswith("fc.")}
    kernel = network.conv1.kernel_size[0]
    stretched = functional.interpolate(
        state["conv1.weight"], size=(kernel, kernel), mode="bilinear", align_corners=True
    )
    state["conv1.weight"] = stretched * (9 / kernel**2)
    network.load_state_dict(state, strict=False)
