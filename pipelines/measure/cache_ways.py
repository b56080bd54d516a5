"""The ways to run a model that caches may be built into: as it is, and the fastest variant that keeps the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.explore import BuildGoal, Explored, problem
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.compose.problem import CompositionProblem
from cache_adapt.compose.rivals import Rival
from cache_adapt.exits.certify import Constraint, upper_bound
from operators.recognise.classifier import probabilities
from pipelines.measure.tapped_pictures import (
    CuttableNetwork,
    OnProgress,
    Tapped,
    built_whole,
    item_s,
    tapped_pictures,
)
from serving.catalogue.lookup import Entry
from serving.common.tensors import Array, words
from serving.errors import ModelError
from serving.variants import artefacts
from serving.variants.variant import Variant, generate, reference

CALIBRATION = 200
"""Pictures on which an int8 variant is calibrated; variants are compared on the others."""


@dataclass(frozen=True)
class Way:
    """A way to run the model, with the places for caches in it."""

    name: str
    """The model's name, or a variant's id."""
    run: Variant
    identity: str
    """Digest of what it runs."""
    agreement: float
    """Share of its own answers that are the model's, at least."""
    tapped: Tapped
    right: NDArray[np.bool_]
    """Whether its own answer to each picture is the model's."""

    def wanted(self, target: float) -> BuildGoal:
        """The agreement that its caches must keep: with what it answers differently itself, the target is kept."""
        return BuildGoal(Constraint(min(target + 1 - self.agreement, 1.0), "answers"))

    def rival(self, explored: Sequence[Explored], target: float) -> Rival:
        known = problem(self.tapped.cuts, self.tapped.whole_s, explored, self.wanted(target))
        return Rival(self.name, self.agreement, replace(known, agreement=target))

    def left_agreement(self, built: BuiltCaches) -> float:
        """Share of its own answers that are the model's, among the pictures that caches leave to it."""
        features = {cut.tensor: cut.lessons.features for cut in self.tapped.cuts}
        left = np.ones(len(self.right), bool)
        for cache in built.caches:
            left &= ~cache.look(features[cache.tensor].astype(np.float32)).hit
        return float(self.right[left].mean()) if left.any() else 1.0


@dataclass(frozen=True)
class MeasuredVariant:
    """A variant, run as a whole beside the model."""

    run: Variant
    network: CuttableNetwork
    ratio: float
    """Its processor time over the model's."""
    agreement: float
    """With the model, at least: a lower confidence bound."""

    def rival(self, whole: CompositionProblem) -> Rival:
        """The same for composition, without caches."""
        layers = [seconds * self.ratio for seconds in whole.layers]
        return Rival(self.run.id, self.agreement, replace(whole, layers=layers, caches=()))


def oracle_way(entry: Entry, network: CuttableNetwork, items: Array, report: OnProgress) -> Way:
    """The model as it is."""
    found = tapped_pictures(network, items, report)
    run = reference(entry.card.name)
    return Way(entry.card.name, run, entry.card.identity, 1.0, found, np.ones(len(items), bool))


def variant_way(
    entry: Entry, found: MeasuredVariant, oracle: Way, items: Array, artefacts_dir: Path, report: OnProgress
) -> Way:
    """A variant, whose caches are to say what the model says."""
    tapped = tapped_pictures(found.network, items, report, oracle.tapped.shares)
    tapped = tapped.taking(oracle.tapped.whole_s * found.ratio)
    identity = artefacts.identity(entry, found.run, artefacts_dir)
    right = tapped.answers == oracle.tapped.answers
    return Way(found.run.id, found.run, identity, found.agreement, tapped, right)


def measured_variants(
    entry: Entry, network: CuttableNetwork, items: Array, answers: Array, artefacts_dir: Path, data_sha256: str
) -> list[MeasuredVariant]:
    """The variants for ONNX Runtime that are built already, and int8; those that cannot be run are left out."""
    calibration = artefacts.Calibration(items[:CALIBRATION], data_sha256)
    found = []
    for run, path in _available(entry, artefacts_dir, calibration):
        try:
            variant = built_whole(entry, path, run.precision)
            found.append(MeasuredVariant(run, variant, *_compared(variant, network, items, answers)))
        except ModelError:
            continue
    return found


def fastest(found: Sequence[MeasuredVariant], target: float) -> MeasuredVariant | None:
    """The fastest variant that keeps the target and is faster than the model; None where there is none."""
    fit = [each for each in found if each.agreement >= target and each.ratio < 1]
    return min(fit, key=lambda each: each.ratio, default=None)


def _available(entry: Entry, artefacts_dir: Path, calibration: artefacts.Calibration) -> Iterator[tuple[Variant, Path]]:
    """Variants with a file of their own, as they are; int8 is built where it is missing."""
    for run in generate(entry.card.name, ("onnxruntime",)):
        if run.artefact is None:
            continue
        try:
            yield run, artefacts.artefact(entry, run, artefacts_dir)
        except ModelError:
            if run.artefact == "int8" and (path := _int8(entry, run, artefacts_dir, calibration)) is not None:
                yield run, path


def _int8(entry: Entry, run: Variant, artefacts_dir: Path, calibration: artefacts.Calibration) -> Path | None:
    """None where the model cannot be quantised."""
    try:
        return artefacts.build(entry, run, artefacts_dir, calibration)
    except ModelError:
        return None


def _compared(variant: CuttableNetwork, network: CuttableNetwork, items: Array, answers: Array) -> tuple[float, float]:
    """Processor time over that of the model, in turns, and the lower bound of the agreement."""
    quick, full = variant.opened(), network.opened()
    try:
        took = item_s({"full": partial(full.run, items[:1]), "quick": partial(quick.run, items[:1])})
        rest = items[CALIBRATION:] if len(items) > 2 * CALIBRATION else items
        scores = np.concatenate([quick.run(rest[at : at + 1])[0] for at in range(len(rest))])
    finally:
        quick.close()
        full.close()
    said = words(probabilities(variant.card, scores), variant.card.min_confidence)
    wrong = int((said != answers[-len(rest) :]).sum())
    return took["quick"] / took["full"], 1 - upper_bound(wrong, len(rest))
