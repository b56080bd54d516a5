"""Who makes exits, in a test: in this process, from all samples, at once and when the test wants it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.updates import Update
from cache_adapt.learned.fit import fit

Sample = tuple[int, NDArray[np.floating[Any]]]


class Maker(Elsewhere):
    """Makes exits of a target as soon as there are so many samples, and again where there are twice as many."""

    def __init__(self, first: int = 60, versions: int = 1) -> None:
        """``versions``: of each target, at most."""
        self.first, self.versions = first, versions
        self.samples: defaultdict[Subject, list[Sample]] = defaultdict(list)
        self.wishes: list[tuple[Target, str]] = []
        self.made: dict[Target, Update] = {}

    def offer(self, subject: Subject, stream: str, labels: Sequence[int], features: NDArray[np.floating[Any]]) -> None:
        subject.check(stream)
        self.samples[subject].extend(zip(labels, features.copy(), strict=True))

    def want(self, target: Target, stream: str) -> None:
        self.wishes.append((target, stream))
        samples, version = self.samples[target.subject], self.made[target].version if target in self.made else 0
        if version < self.versions and len(samples) >= self.first << version:
            self.make(target, samples)

    def newest(self, target: Target) -> Update | None:
        return self.made.get(target)

    def make(self, target: Target, samples: Sequence[Sample]) -> None:
        """The next version of exits, from these samples."""
        spec, subject = target.spec, target.subject
        words = np.array([word for word, _ in samples], np.intp)
        rows = spec.layout.unpacked(np.stack([features for _, features in samples]), words)
        data = fit(subject.network, subject.network_identity, spec, rows).to_bytes()
        self.give(target, data)

    def give(self, target: Target, data: bytes) -> None:
        """Something as the next version."""
        self.made[target] = Update(1 if target not in self.made else self.made[target].version + 1, data)
