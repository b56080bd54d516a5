"""The networks that engines are compared on, with the same weights as modules, and pictures to ask them about."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from torch import nn

from benchmarks.engines_parts.fill import fill
from datasets import vehicle6
from pipelines.measure.pictures import gather
from serving.catalogue.cards import ImageInput
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights
from serving.common.tensors import Array, Image
from serving.preprocess import batch
from tools.architectures.export import to_onnx
from tools.architectures.registry import find, load_weights
from tools.shipped.recipes import RECIPES, Recipe
from tools.shipped.samples import cifar

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
CALIBRATION, PHOTOS, QUICK_PHOTOS = 128, 400, 100
CIFAR_INPUT = ImageInput(
    width=32, height=32, scale=1 / 255, mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616), resize="stretch"
)


@dataclass(frozen=True, slots=True)
class Case:
    """A network; without a module eager PyTorch does not run it, without pictures only its latency is measured."""

    name: str
    model: onnx.ModelProto
    module: nn.Module | None
    calibration: Array
    """N × …, as the network takes them; none of them is in ``held_out``."""
    held_out: Array


def cases(quick: bool) -> Iterator[Case]:
    """The shipped networks, ResNet-18 for CIFAR-10 and a detector; two of the shipped ones when quick."""
    for recipe in RECIPES:
        if not quick or recipe.side < 96:
            yield _shipped(recipe, quick)
    if not quick:
        yield _resnet18_cifar()
        yield _detector()


def _shipped(recipe: Recipe, quick: bool) -> Case:
    """Calibrated on photos and drawn pictures of training, compared on others; quick: photos alone."""
    entry = Catalogue([SHIPPED]).find(recipe.name)
    card, photos = entry.card, vehicle6.ensure(DATA / "images" / "vehicle6")
    learnt = _items(card.input, [image for image, _ in vehicle6.load(photos, "train")], CALIBRATION)
    unseen = [image for image, _ in vehicle6.load(photos, "test")]
    held_out = _items(card.input, unseen, QUICK_PHOTOS if quick else PHOTOS)
    if not quick:
        drawn = gather(card, None)
        learnt = np.concatenate([learnt[: CALIBRATION // 2], drawn.calibration[: CALIBRATION // 2]])
        held_out = np.concatenate([held_out, drawn.pictures.items])
    model = read_weights(entry.path, card)
    return Case(card.name, model, fill(recipe.build().fold(), model), learnt, held_out)


def _resnet18_cifar() -> Case:
    architecture = find("resnet18-cifar")
    module = architecture.build(architecture.classes)
    load_weights(module, DATA / "weights" / "resnet18_cifar10.safetensors")
    learnt, unseen = (
        _items(CIFAR_INPUT, [image for image, _ in cifar(DATA / "images" / f"cifar10_jpeg_{split}.npz", each)], count)
        for split, each, count in (("train", 13, CALIBRATION), ("test", 60, 600))
    )
    return Case("resnet18-cifar", to_onnx(module, architecture.size), module.eval(), learnt, unseen)


def _detector() -> Case:
    model = onnx.load(DATA / "weights" / "yolox_nano.onnx")
    noise = np.random.default_rng(0).uniform(0, 255, (8, 3, 416, 416)).astype(np.float32)
    return Case("yolox-nano", model, None, noise, noise[:0])


def _items(size: ImageInput, images: Sequence[Image], count: int) -> Array:
    """Some of the images, evenly, as the network takes them."""
    chosen = np.linspace(0, len(images) - 1, count).astype(int)
    return batch(size, [images[index] for index in chosen])[0]
