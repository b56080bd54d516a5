"""The image sets of ``benchmarks.weg_images``: an oracle, a compact network and pictures that neither learnt."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import nn

from benchmarks.weg_parts.feature_network import before_last_layer, feature_network
from benchmarks.weg_parts.heads import StoredFeatures
from datasets import plates, vehicle6
from learning.features import as_features
from serving.catalogue.cards import ImageInput
from serving.catalogue.lookup import SHIPPED, Catalogue, read_weights, verify
from serving.engines.network import EngineNetwork, run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.preprocess import batch
from tools.architectures.export import to_onnx
from tools.architectures.registry import find, load_weights

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
MODELS = Path(__file__).parent / "models"
THREADS = 1
"""Threads of either network: the other core is for training heads."""
STEP = 32
STORED_CIFAR = 120
"""Pictures of every class that heads are trained on; of vehicle6, as many as there are."""
STORE = MODELS / "plates-store"

Image = NDArray[Any]
"""Height × width × 3, blue-green-red."""
Look = Callable[[Sequence[Image]], NDArray[np.float32]]
"""N pictures → N × outputs."""
Triple = tuple[float, float, float]
Draw = Callable[[Generator, int], Image]
"""An unseen picture of a class."""


class Looker:
    """A network and what has to happen to a picture before it."""

    def __init__(self, name: str, model: onnx.ModelProto, size: ImageInput) -> None:
        self._size = size
        self._network = EngineNetwork(name, model, OnnxRuntimeEngine(name, threads=THREADS))

    def __call__(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """N pictures → N × outputs."""
        found: NDArray[np.float32] = run_in_steps(self._network.run, batch(self._size, images)[0], STEP)[0]
        return found


@dataclass(frozen=True)
class ImageSet:
    """Classes are numbers: the oracle's outputs."""

    name: str
    classes: int
    oracle: Look
    features: Look
    """The compact network up to its last layer."""
    stored: StoredFeatures
    """What heads are trained on; none of these pictures is ever drawn."""
    draw: Draw
    labels: Sequence[int]
    """The classes that can be drawn; the oracle may know others."""


def image_sets() -> Mapping[str, Callable[[int], ImageSet]]:
    """By name; each is made, for a seed, when it is needed."""
    return {"plates": plates_set, "cifar10": cifar_set, "vehicle6": vehicle_set}


def plates_set(seed: int = 0) -> ImageSet:
    """120 generated classes; every picture is a new one, whatever the seed."""
    classes = len(plates.CLASSES)

    def draw(rng: Generator, label: int) -> Image:
        return plates.photo(plates.plate(label), rng)

    return ImageSet("plates", classes, *plates_networks(), _stored_plates(), draw, range(classes))


def plates_networks() -> tuple[Looker, Looker]:
    """Oracle and compact network."""
    return _models(MODELS, "plates", "plates-compact")


def cifar_set(seed: int) -> ImageSet:
    """Ten classes of the test set; 120 pictures of each are stored."""
    weights = DATA / "weights"
    large, small = find("resnet18-cifar").build(10), find("cifar-resnet20").build(10)
    load_weights(large, weights / "resnet18_cifar10.safetensors")
    state = torch.load(weights / "cifar10_resnet" / "resnet20_jpegft_state.pt", map_location="cpu", weights_only=True)
    small.load_state_dict({name.removeprefix("module."): tensor for name, tensor in state.items()}, strict=False)
    oracle = _cifar(large, (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616), whole=True)
    features = _cifar(small, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), whole=False)
    with np.load(DATA / "images" / "cifar10_jpeg_test.npz") as archive:
        jpeg, offsets, truth = archive["jpeg"], archive["offsets"], archive["labels"]
    images = [np.asarray(cv2.imdecode(jpeg[a:b], cv2.IMREAD_COLOR), np.uint8) for a, b in pairwise(offsets)]
    return divided("cifar10", 10, oracle, features, images, truth.tolist(), STORED_CIFAR, seed)


def vehicle_set(seed: int = 0) -> ImageSet:
    """Six vehicle types and "other"; the photos of the validation split are stored, those of the test split drawn."""
    oracle, features = _models(SHIPPED, "vehicle-type", "vehicle-type-compact")
    folder = vehicle6.ensure(DATA / "images" / "vehicle6")
    stored = [image for image, _ in vehicle6.load(folder, "validation")]
    by_class: dict[int, list[Image]] = {}
    for image, name in vehicle6.load(folder, "test"):
        by_class.setdefault(vehicle6.CLASSES.index(name), []).append(image)
    classes = len(vehicle6.CLASSES)
    return ImageSet(
        "vehicle6", classes + 1, oracle, features, _store(oracle, features, stored), _from(by_class), range(classes)
    )


def _models(directory: Path, oracle: str, compact: str) -> tuple[Looker, Looker]:
    """A classifier as it is, and another up to its last layer."""
    whole, cut = (Catalogue([directory]).find(name) for name in (oracle, compact))
    verify(whole)
    verify(cut)
    graphs = read_weights(whole.path, whole.card), _beheaded(read_weights(cut.path, cut.card))
    return Looker(oracle, graphs[0], whole.card.input), Looker(compact, graphs[1], cut.card.input)


def _cifar(network: nn.Module, mean: Triple, std: Triple, *, whole: bool) -> Looker:
    model = to_onnx(network, 32)
    size = ImageInput(width=32, height=32, scale=1 / 255, mean=mean, std=std)
    return Looker("cifar10", model if whole else _beheaded(model), size)


def _beheaded(model: onnx.ModelProto) -> onnx.ModelProto:
    """A classifier up to what its last layer sees."""
    return feature_network(model, before_last_layer(model))


def divided(
    name: str,
    classes: int,
    oracle: Looker,
    features: Looker,
    images: Sequence[Image],
    truth: Sequence[int],
    stored: int,
    seed: int,
) -> ImageSet:
    """So many pictures of every class are stored, the others drawn."""
    order = np.random.default_rng((seed, 1)).permutation(len(images))
    by_class = {label: [images[i] for i in order if truth[i] == label] for label in range(classes)}
    kept = [image for group in by_class.values() for image in group[:stored]]
    rest = {label: group[stored:] for label, group in by_class.items()}
    return ImageSet(name, classes, oracle, features, _store(oracle, features, kept), _from(rest), range(classes))


def _store(oracle: Look, features: Look, pictures: Sequence[Image]) -> StoredFeatures:
    rows = as_features(features(pictures))
    return StoredFeatures(rows, oracle(pictures).argmax(axis=1).astype(np.int32))


def _stored_plates() -> StoredFeatures:
    features, labels = (np.load(STORE / name, allow_pickle=False) for name in ("features.npy", "labels.npy"))
    return StoredFeatures(features, labels)


def _from(by_class: Mapping[int, Sequence[Image]]) -> Draw:
    def draw(rng: Generator, label: int) -> Image:
        return by_class[label][int(rng.integers(len(by_class[label])))]

    return draw
