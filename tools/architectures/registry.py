"""All architectures by name, their cost, and the way to fill them with public weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from serving.common.explain import choices
from serving.common.weights import read_by
from serving.errors import ModelError
from tools.architectures.cifar_resnet import CifarResNet
from tools.architectures.compact import PLANS, Compact
from tools.architectures.mobilenet import MobileNetV2
from tools.architectures.resnet import CIFAR, resnet18, resnet34, resnet50, resnet101
from tools.architectures.vgg import DEPTHS, Vgg


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
    network.eval()
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        network(torch.zeros(1, 3, size, size))
    return int(counter.get_total_flops()) // 2


def load_weights(network: nn.Module, path: Path) -> None:
    """Fill a network from a safetensors file of any float type; ModelError where names or shapes differ."""
    state = single_precision(path)
    if problem := _mismatch(network.state_dict(), state):
        raise ModelError(f"{path}: is not for this network: {problem}")
    network.load_state_dict(state, strict=False)


def single_precision(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file of any float type by name; ModelError where it cannot be read."""
    return read_by(_load, path, f"{path}: cannot be read as safetensors")


def _load(path: Path) -> dict[str, Tensor]:
    return {name: tensor.float() for name, tensor in load_file(path).items()}


def _mismatch(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str | None:
    """The difference in a few words; counters of training steps may be absent, as they are from older weights."""
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
