"""Gives templates a training set: what the oracle says of pictures, and what the feature networks make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from msgspec import structs
from numpy.random import default_rng
from numpy.typing import NDArray

from learning.store import write_store
from serving.catalogue.cards import ImageInput
from serving.catalogue.lookup import Entry
from serving.common.tensors import Image
from serving.engines.network import Network, run_in_steps
from serving.errors import ModelError
from serving.loading.opening import open_model
from serving.preprocess import batch
from specialization.heads.train import HeadSamples
from specialization.heads.validate import Done, profile
from specialization.templates.stored import StoredTemplate, feature_entry, write_manifest

STEP, SEED = 16, 1

OnProgress = Callable[[int], None]
"""Told how many pictures have been forwarded."""


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Where pictures come from."""

    words: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Forwarded:
    """N pictures, seen by the oracle and by the feature network of each template."""

    labels: NDArray[np.intp]
    """The oracle's answers."""
    features: Mapping[str, NDArray[np.float32]]
    """N × D by template."""


def forward(
    oracle: Entry, templates: Sequence[StoredTemplate], pictures: Iterable[Image], threads: int, report: OnProgress
) -> Forwarded:
    """Run everything on pictures of any size (blue-green-red); ModelError where a network cannot be opened."""
    networks = {each.name: _Opened.of(feature_entry(each.directory), threads) for each in templates}
    answering = _Opened.of(oracle, threads)
    labels: list[NDArray[Any]] = []
    features: dict[str, list[NDArray[Any]]] = {name: [] for name in networks}
    for some in _chunks(pictures, STEP):
        labels.append(answering(some).argmax(axis=1))
        for name, network in networks.items():
            features[name].append(network(some))
        report(sum(map(len, labels)))
    for opened in (answering, *networks.values()):
        opened.network.close()
    if not labels:
        raise ModelError(f"no pictures to show to {oracle.card.name!r}")
    return Forwarded(np.concatenate(labels), {name: np.concatenate(rows) for name, rows in features.items()})


def fill(
    template: StoredTemplate, features: NDArray[Any], labels: NDArray[Any], data: PictureSource, done: Done
) -> None:
    """Write the store, and the rates that heads trained from it reach; TooFewSamples where there can be no head."""
    measured = profile(HeadSamples(features, labels), default_rng(SEED), done=done)
    write_store(template.directory, features, labels)
    manifest = structs.replace(template.manifest, measured=measured, data=data.words, data_sha256=data.sha256)
    write_manifest(template.directory, manifest)


@dataclass(frozen=True, slots=True)
class _Opened:
    network: Network
    input: ImageInput

    @classmethod
    def of(cls, entry: Entry, threads: int) -> _Opened:
        return cls(open_model(entry, threads), entry.card.input)

    def __call__(self, pictures: Sequence[Image]) -> NDArray[Any]:
        """The first output, one row for each."""
        rows = run_in_steps(self.network.run, batch(self.input, pictures)[0], STEP)[0]
        return rows.reshape(len(rows), -1)


def _chunks(pictures: Iterable[Image], size: int) -> Iterator[list[Image]]:
    remaining = iter(pictures)
    while some := list(islice(remaining, size)):
        yield some
