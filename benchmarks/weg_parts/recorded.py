"""An image set whose pictures both networks have seen beforehand: looking again costs only virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.weg_parts.heads import SpecialisedHead
from benchmarks.weg_parts.image_run import Train
from benchmarks.weg_parts.image_sets import Image, ImageSet, Look
from benchmarks.weg_parts.image_template import seconds
from serving.errors import SluiceError
from specialization.weg.state import Head


class VirtualClock:
    """Advances only when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Now."""
        return self.now_s


@dataclass(frozen=True)
class Recording:
    """What both networks say of every picture, so many of each class in a row."""

    images: ImageSet
    oracle: NDArray[np.float32]
    features: NDArray[np.float32]
    per_class: int
    oracle_s: float
    """For one picture, measured."""
    compact_s: float

    def replayed(self, clock: VirtualClock) -> ImageSet:
        """The set, with pictures that are but their numbers."""

        def draw(rng: Generator, label: int) -> Image:
            return np.array(label * self.per_class + rng.integers(self.per_class))

        return replace(
            self.images,
            oracle=_look(self.oracle, self.oracle_s, clock),
            features=_look(self.features, self.compact_s, clock),
            draw=draw,
        )


def record(images: ImageSet, rng: Generator, per_class: int) -> Recording:
    """Draw so many pictures of every class, show them to both networks, and time these on single ones."""
    pictures = [images.draw(rng, label) for label in images.labels for _ in range(per_class)]
    looks = images.oracle, images.features
    oracle_s, compact_s = (seconds(look, pictures) for look in looks)
    return Recording(images, looks[0](pictures), looks[1](pictures), per_class, oracle_s, compact_s)


class Forge:
    """Trains heads, none of them twice; whoever asks waits, in virtual time, as long as it took."""

    def __init__(self, train: Train) -> None:
        self._train = train
        self._known: dict[tuple[tuple[int, ...], float], tuple[SpecialisedHead | SluiceError, float]] = {}

    def train(self, head: Head, clock: VirtualClock) -> SpecialisedHead:
        """Raises SluiceError as the training did."""
        key = (head.target.classes, round(head.training_skew, 2))
        if key not in self._known:
            self._known[key] = self._timed(head)
        outcome, took_s = self._known[key]
        clock.now_s += took_s
        if isinstance(outcome, SluiceError):
            raise outcome
        return outcome

    def _timed(self, head: Head) -> tuple[SpecialisedHead | SluiceError, float]:
        begun = perf_counter()
        outcome: SpecialisedHead | SluiceError
        try:
            outcome = self._train(head)
        except SluiceError as error:
            outcome = error
        return outcome, perf_counter() - begun


def _look(outputs: NDArray[np.float32], cost_s: float, clock: VirtualClock) -> Look:
    def look(images: Sequence[Image]) -> NDArray[np.float32]:
        clock.now_s += cost_s * len(images)
        found: NDArray[np.float32] = outputs[[int(image) for image in images]]
        return found

    return look
