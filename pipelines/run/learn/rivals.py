"""Variants of a network beside it, on the looks of a recording: those that keep the agreement may be listed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cache_adapt.exits.certify import upper_bound
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.classifier import probabilities
from pipelines.run.learn.costs import item_s
from serving.catalogue.lookup import Entry, read_weights
from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.graphs.shapes import with_item_size
from serving.variants import artefacts
from serving.variants.variant import Variant, generate

CALIBRATION = 200
"""Looks on which an int8 variant is calibrated; variants are compared on the others."""


@dataclass(frozen=True)
class RivalVariant:
    """A variant, measured in turns with the network as it is."""

    id: str
    ratio: float
    """Its processor time over the network's."""
    agreement: float
    """Share of its words that are the network's, at least: a lower confidence bound."""


def fastest(
    entry: Entry, items: Array, words: Vocabulary, artefacts_dir: Path, agreement: float
) -> RivalVariant | None:
    """The fastest variant for ONNX Runtime that is faster than the network and keeps the agreement; None: none does.

    ``items``: N × …, as the network takes them. Variants that are built already are compared, and int8, which is built
    where it is not.
    """
    sha256 = hashlib.sha256(np.ascontiguousarray(items).tobytes()).hexdigest()
    compared = items[CALIBRATION:] if len(items) > 2 * CALIBRATION else items
    whole = _opened(entry, entry.path, "fp32")
    found = list[RivalVariant]()
    try:
        said = _words(whole, entry, compared, words)
        for run, path in _there(entry, artefacts_dir, artefacts.Calibration(items[:CALIBRATION], sha256)):
            try:
                other = _opened(entry, path, run.precision)
            except ModelError:
                continue
            try:
                took = item_s({"whole": partial(whole.run, items[:1]), "other": partial(other.run, items[:1])})
                wrong = int((_words(other, entry, compared, words) != said).sum())
            finally:
                other.close()
            found.append(RivalVariant(run.id, took["other"] / took["whole"], 1 - upper_bound(wrong, len(compared))))
    finally:
        whole.close()
    fit = [each for each in found if each.ratio < 1 and each.agreement >= agreement]
    return min(fit, key=lambda each: each.ratio, default=None)


def _opened(entry: Entry, path: Path, precision: Precision) -> EngineNetwork:
    name = entry.card.name
    graph = with_item_size(read_weights(path, entry.card), entry.card.input.item_shape)
    return EngineNetwork(name, graph, OnnxRuntimeEngine(name, threads=1, precision=precision))


def _words(network: EngineNetwork, entry: Entry, items: Array, words: Vocabulary) -> NDArray[np.intp]:
    scores = np.concatenate([network.run(items[row : row + 1])[0] for row in range(len(items))])
    return words.of(probabilities(entry.card, scores))


def _there(entry: Entry, artefacts_dir: Path, calibration: artefacts.Calibration) -> Iterator[tuple[Variant, Path]]:
    """Variants with a file of their own; those that cannot be made are left out."""
    for run in generate(entry.card.name, ("onnxruntime",)):
        if run.artefact is None:
            continue
        try:
            yield run, artefacts.artefact(entry, run, artefacts_dir)
        except ModelError:
            if run.artefact != "int8":
                continue
            try:
                yield run, artefacts.build(entry, run, artefacts_dir, calibration)
            except ModelError:
                continue
