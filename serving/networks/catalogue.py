"""All architectures by name, their cost, and the way to fill them with public weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from serving.errors import ModelError
from serving.explain import choices
from serving.networks.cifar_resnet import CifarResNet
from serving.networks.compact import PLANS, Compact
from serving.networks.mobilenet import MobileNetV2
from serving.networks.resnet import CIFAR, resnet18, resnet34, resnet50, resnet101
from serving.networks.vgg import DEPTHS, Vgg


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network by name; ``size`` and ``classes`` are those of its public weights."""

    name: str
    build: Callable[[int], nn.Module]
    """Makes one for so many classes, without weights."""
    size: int
    """Pixels of the square input."""
    classes: int


def _all() -> Iterator[Architecture]:
    for residual in (resnet18, resnet34, resnet50, resnet101):
        yield Architecture(residual.__name__, residual, size=224, classes=1000)
        yield Architecture(f"{residual.__name__}-cifar", partial(residual, stem=CIFAR), size=32, classes=10)
    for depth in (3, 5, 7, 9):
        yield Architecture(f"cifar-resnet{6 * depth + 2}", partial(CifarResNet, depth=depth), size=32, classes=10)
    for name, depths in DEPTHS.items():
        yield Architecture(name, partial(Vgg, depths=depths), size=224, classes=1000)
        yield Architecture(f"{name}-bn", partial(Vgg, depths=depths, normalised=True), size=224, classes=1000)
    yield Architecture("mobilenet-v2", MobileNetV2, size=224, classes=1000)
    for name, plan in PLANS.items():
        yield Architecture(name, partial(Compact, plan=plan), plan.size, plan.classes)


ARCHITECTURES: Mapping[str, Architecture] = {each.name: each for each in _all()}


def find(name: str) -> Architecture:
    """The architecture of this name; raises ModelError with a near miss."""
    if name not in ARCHITECTURES:
        raise ModelError(f"unknown architecture {name!r}{choices(name, ARCHITECTURES)}")
    return ARCHITECTURES[name]


def multiply_adds(network: nn.Module, size: int) -> int:
    """Multiply-adds of the convolutions and linear layers for one image of ``size`` × ``size`` pixels."""
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


def load_weights(network: nn.Module, path: Path) -> None:
    """Fill a network from a safetensors file of any float type; ModelError where names or shapes differ."""
    try:
        state = {name: tensor.float() for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors ({error})") from None
    if problem := _mismatch(network.state_dict(), state):
        raise ModelError(f"{path}: is not for this network: {problem}")
    network.load_state_dict(state, strict=False)


def _mismatch(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str | None:
    """What is wrong, in a few words; counters of training steps may be absent, as they are from older weights."""
    if missing := [name for name in wanted if name not in given and not name.endswith("num_batches_tracked")]:
        return f"it lacks {_few(missing)}"
    if unexpected := [name for name in given if name not in wanted]:
        return f"it has {_few(unexpected)} besides"
    for name, tensor in wanted.items():
        if name in given and given[name].shape != tensor.shape:
            return f"{name} is {_size(given[name])}, must be {_size(tensor)}"
    return None


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _size(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "a number"
