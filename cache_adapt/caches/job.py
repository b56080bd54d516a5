"""The job of building caches from activations that were collected while serving, for a process of its own."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.random import default_rng
from threadpoolctl import threadpool_limits

from cache_adapt.caches.held import HeldOutPredictions
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.training import Lessons
from cache_adapt.caches.untuned import untuned
from learning.store import FeatureStore
from serving.errors import ModelError, SluiceError

LOOKUPS = 15
"""Lookups that are timed."""
SEGMENT_BYTES = 16 << 20
"""Bytes that pass through the processor's caches between two lookups."""


class CutJob(msgspec.Struct, frozen=True):
    """A cut whose taps were collected."""

    tensor: str
    grid: tuple[int, int, int]
    until_s: float
    overhead_s: float


class CachesJob(msgspec.Struct, frozen=True):
    """Build caches; the unit of costs is the caller's, here processor seconds."""

    store: str
    """Directory of a feature store, or of a ring: the taps of all cuts, one after the other, and answers."""
    model: str
    model_identity: str
    classes: int
    cuts: tuple[CutJob, ...]
    whole_s: float
    agreement: float
    """Share of the caches' answers that must be the network's."""
    architectures: tuple[str, ...]
    seed: int
    independent: float = 1.0
    """As how many samples each one in ``store`` counts."""
    memory_bytes: int | None = None
    """The most memory of the caches together; None: as much as they like."""
    untuned_at: tuple[int, ...] = ()
    """Only train caches of the first form, at these cuts, and leave to others who answers, and when; none: choose."""
    validation: str = ""
    """Directory of a feature store with the same of other inputs, which caches learn from, and have to hold for, too;
    empty: there is none."""


class CachesAnswer(msgspec.Struct, frozen=True):
    """Caches, or why there are none."""

    caches: str = ""
    """Base64 of ``BuiltCaches.to_bytes``."""
    error: str = ""
    processor_s: float = 0.0
    """The job's cost."""

    def built(self) -> BuiltCaches:
        """The caches; SluiceError where there are none, ModelError where they are damaged."""
        if self.error:
            raise SluiceError(self.error)
        try:
            return BuiltCaches.from_bytes(base64.b64decode(self.caches, validate=True))
        except ValueError as error:
            raise ModelError(f"learned caches are damaged: {error}") from None


class _Collected(NamedTuple):
    """The inputs from which caches are built."""

    lessons: Sequence[Lessons]
    """By cut: inputs of the validation set in any order, then the others, oldest first."""
    independent: float
    """As how many inputs each one counts, on average."""


def answered(job: CachesJob) -> CachesAnswer:
    """Do a job in the calling thread."""
    try:
        collected = _collected(job)
        found = _untuned(job, collected.lessons) if job.untuned_at else _chosen(job, collected)
    except SluiceError as error:
        return CachesAnswer(error=str(error))
    return CachesAnswer(caches=base64.b64encode(found.to_bytes()).decode())


def _collected(job: CachesJob) -> _Collected:
    own, others = _opened(job, job.store), [_shuffled(_opened(job, job.validation))] if job.validation else []
    stores = [*others, own]
    ends = np.cumsum([int(np.prod(cut.grid)) for cut in job.cuts])
    taps = np.split(np.concatenate([each.features for each in stores]).astype(np.float32), ends[:-1], axis=1)
    answers = np.concatenate([each.labels for each in stores]).astype(np.intp)
    lessons = [Lessons(tap, each.grid, answers, None, job.classes) for each, tap in zip(job.cuts, taps, strict=True)]
    count = len(answers) - (1 - job.independent) * len(own.labels)
    return _Collected(lessons, count / max(len(answers), 1))


def _opened(job: CachesJob, store: str) -> FeatureStore:
    found, values = FeatureStore.open(Path(store)), sum(int(np.prod(cut.grid)) for cut in job.cuts)
    if found.features.shape[1] != values or (len(found.labels) and found.labels.max() >= job.classes):
        raise ModelError(f"{store}: holds samples of another network")
    return found


def _shuffled(store: FeatureStore) -> FeatureStore:
    """Pictures of a folder may lie class by class: cross-fitting by runs of neighbours would leave out classes."""
    order = default_rng(0).permutation(len(store.labels))
    return FeatureStore(store.features[order], store.labels[order])


def _untuned(job: CachesJob, lessons: Sequence[Lessons]) -> BuiltCaches:
    at = {job.cuts[place].tensor: lessons[place] for place in job.untuned_at}
    return untuned(job.model, job.model_identity, at, job.architectures[0], job.seed)


def _chosen(job: CachesJob, collected: _Collected) -> BuiltCaches:
    """The best choice of caches; SluiceError where none pay."""
    # Imported where it is wanted: a job that only trains needs none of it.
    from cache_adapt.caches.build import WholeNetwork, build
    from cache_adapt.caches.explore import BuildGoal, Cut, explore
    from cache_adapt.exits.certify import Constraint

    lessons = collected.lessons
    cuts = [
        Cut(each.tensor, each.until_s, each.overhead_s, lesson) for each, lesson in zip(job.cuts, lessons, strict=True)
    ]
    most = float("inf") if job.memory_bytes is None else job.memory_bytes
    constraint = Constraint(job.agreement, "answers", collected.independent, proven_later=True)
    wanted = BuildGoal(constraint, job.architectures, most, job.seed)
    fits: dict[tuple[str, str], HeldOutPredictions] = {}
    explored = list(explore(cuts, wanted, lookup_s, fits=fits))
    found = build(WholeNetwork(job.model, job.model_identity, job.whole_s), cuts, explored, wanted, fits)
    if found.caches is None:
        best = max((point.hit_rate for each in explored for point in each.points), default=0.0)
        raise SluiceError(f"no caches pay: of {len(lessons[0].answers)} samples the best would answer {best:.0%}")
    return found.caches


def lookup_s(cache: LearnedCache, clock: Callable[[], float] = time.process_time) -> float:
    """Median seconds of one lookup, after what fills the processor's own caches as a segment of a network does.

    A worker gives numpy's products one thread, so they have one here.
    """
    row = np.zeros((1, int(np.prod(cache.predictor.grid))), np.float32)
    weights = np.zeros(SEGMENT_BYTES, np.uint8)
    found = []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(LOOKUPS):
            weights += 1
            started_s = clock()
            cache.look(row)
            found.append(clock() - started_s)
    return median(found)
