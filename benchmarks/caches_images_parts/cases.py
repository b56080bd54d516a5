"""The networks of ``benchmarks.caches_images``, each with pictures that it was not trained on, in two parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import onnx
import torch
from torch import Tensor, nn

from benchmarks.segments import WEIGHTS
from datasets import vehicle6
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights, verify
from serving.common.tensors import Array
from serving.preprocess import batch
from tools.architectures.export import to_onnx
from tools.architectures.registry import find, load_weights

NAME, SMALL = "resnet18-cifar", "cifar-resnet20"
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)
SMALL_MEAN, SMALL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PICTURES = WEIGHTS.parent / "images"


@dataclass(frozen=True)
class Case:
    """A network and its pictures, as it takes them."""

    name: str
    model: onnx.ModelProto
    learnt: Array
    """What everything is built, chosen and certified on."""
    unseen: Array
    """What everything is measured on."""
    small: onnx.ModelProto | None = None
    """A smaller network that takes the same."""


def cases(quick: int | None) -> Iterator[Case]:
    """ResNet-18 for CIFAR-10 and the vehicle type; ``quick``: with so many pictures of each part."""
    yield _cifar(quick)
    yield _vehicles(quick)


def network() -> onnx.ModelProto:
    """ResNet-18 for CIFAR-10."""
    large = find(NAME)
    made = large.build(large.classes)
    load_weights(made, WEIGHTS / "resnet18_cifar10.safetensors")
    return to_onnx(made, large.size)


def archive() -> tuple[list[Array], Array]:
    """The JPEGs of all test images, and their labels."""
    with np.load(PICTURES / "cifar10_jpeg_test.npz") as found:
        jpeg, offsets, labels = found["jpeg"], found["offsets"], found["labels"]
    return [jpeg[slice(*place)] for place in pairwise(offsets)], labels


def decoded(jpegs: Sequence[Array]) -> Array:
    """As the network takes them."""
    images = np.stack([np.asarray(cv2.imdecode(jpeg, 1))[..., ::-1] for jpeg in jpegs])
    return ((images / 255 - MEAN) / STD).transpose(0, 3, 1, 2).astype(np.float32)


def _cifar(quick: int | None) -> Case:
    jpegs, _ = archive()
    half = len(jpegs) // 2
    items = decoded([jpegs[at] for at in np.random.default_rng(0).permutation(len(jpegs))])
    return Case(NAME, network(), items[:half][:quick], items[half:][:quick], _small())


def _small() -> onnx.ModelProto:
    """ResNet-20, which takes what ResNet-18 takes."""
    made = find(SMALL).build(find(NAME).classes)
    file = WEIGHTS / "cifar10_resnet" / "resnet20_jpegft_state.pt"
    state = torch.load(file, map_location="cpu", weights_only=True)
    made.load_state_dict({name.removeprefix("module."): tensor for name, tensor in state.items()}, strict=False)
    return to_onnx(nn.Sequential(_Scaled(), made), find(NAME).size)


class _Scaled(nn.Module):
    """From the scale of the one network to that of the other."""

    def forward(self, items: Tensor) -> Tensor:
        mean, std, small_mean, small_std = (
            torch.tensor(each).reshape(1, 3, 1, 1) for each in (MEAN, STD, SMALL_MEAN, SMALL_STD)
        )
        return items * (std / small_std) + (mean - small_mean) / small_std


def _vehicles(quick: int | None) -> Case:
    """The shipped recogniser; its own training left out the photos of both splits."""
    entry = Catalogue([SHIPPED]).find("vehicle-type")
    verify(entry)
    folder, items = vehicle6.ensure(PICTURES / "vehicle6"), []
    for split in ("validation", "test"):
        photos = [photo for photo, _ in vehicle6.load(folder, split)]
        order = np.random.default_rng(0).permutation(len(photos))[:quick]
        items.append(batch(entry.card.input, [photos[at] for at in order])[0])
    return Case("vehicle-type", read_weights(entry.path, entry.card), *items)
