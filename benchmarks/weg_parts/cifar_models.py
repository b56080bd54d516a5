"""CIFAR-10 as a user would bring it: model directories, streams as folders of pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from torch import nn

from serving.catalogue.lookup import file_sha256
from tools.architectures.export import to_onnx
from tools.architectures.registry import find, load_weights

DATA = Path(os.environ.get("SLUICE_DATA", "../shared/data"))
LARGE, SMALL = "resnet18", "resnet20"
CLASSES = 10


class Pictures:
    """The test set as JPEGs, divided once for all streams."""

    def __init__(self, seed: int) -> None:
        with np.load(DATA / "images" / "cifar10_jpeg_test.npz") as archive:
            jpeg, offsets, self.truth = archive["jpeg"], archive["offsets"], archive["labels"]
            self.names = tuple(str(name) for name in archive["classes"])
        self._jpegs = [jpeg[a:b].tobytes() for a, b in pairwise(offsets)]
        order = np.random.default_rng((seed, 1)).permutation(len(self._jpegs))
        self._of = {label: order[self.truth[order] == label] for label in range(CLASSES)}

    def write_stream(self, folder: Path, labels: NDArray[np.intp], seed: int) -> list[str]:
        """Write a stream of pictures of these classes, in the order of their names; returns what each shows."""
        rng = np.random.default_rng((seed, 2))
        self._write(folder, [int(rng.choice(self._of[int(label)])) for label in labels])
        return [self.names[label] for label in labels]

    def _write(self, folder: Path, places: Sequence[int]) -> None:
        folder.mkdir(parents=True)
        for number, place in enumerate(places):
            (folder / f"{number:06}.jpg").write_bytes(self._jpegs[place])


def write_models(folder: Path, names: Sequence[str]) -> None:
    """The oracle, and a compact network of the same classes."""
    weights = DATA / "weights"
    large, small = find("resnet18-cifar").build(CLASSES), find("cifar-resnet20").build(CLASSES)
    load_weights(large, weights / "resnet18_cifar10.safetensors")
    state = torch.load(weights / "cifar10_resnet" / "resnet20_jpegft_state.pt", map_location="cpu", weights_only=True)
    small.load_state_dict({name.removeprefix("module."): tensor for name, tensor in state.items()}, strict=False)
    _write(folder / LARGE, large, "reference", names, (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616))
    _write(folder / SMALL, small, "compact", names, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def _write(
    folder: Path, network: nn.Module, tier: str, names: Sequence[str], mean: Sequence[float], std: Sequence[float]
) -> None:
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(to_onnx(network.eval(), 32).SerializeToString())
    card = {
        "name": folder.name,
        "version": "1",
        "tier": tier,
        "task": "classify",
        "file": "model.onnx",
        "sha256": file_sha256(folder / "model.onnx"),
        "licence": "Apache-2.0",
        "source": "weights of the sample data",
        "input": {"width": 32, "height": 32, "scale": 1 / 255, "mean": list(mean), "std": list(std)},
        "classes": list(names),
    }
    (folder / "model.yaml").write_text(yaml.safe_dump(card))
