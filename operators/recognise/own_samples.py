"""Samples of the node's own streams with the oracle's answers: a training set of what its cameras show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from operators.frame import Image
from operators.recognise.backlog import Backlog, Errand
from specialization.feature_store import SampleRing

ENOUGH = 300
"""Samples of one class that are plenty: of further ones few are taken, so that the newest are among them."""
RARELY = 10
FIRST_PROFILE = 150
"""Samples after which it is first measured how well heads do."""


class OwnSamples:
    """Has features made of crops in the background, and keeps them with the oracle's answers."""

    def __init__(self, directory: Path, features: Callable[[Image], Awaitable[NDArray[np.float32]]]) -> None:
        """``features``: of one crop, D."""
        self.directory = directory
        self._backlog: Backlog[NDArray[np.float32]] = Backlog(features, "no samples are taken")
        self._ring: SampleRing | None = None
        self._counts: dict[int, int] = {}
        self._offered: dict[int, int] = {}
        self._next_profile = FIRST_PROFILE

    @property
    def taken(self) -> int:
        """So many so far."""
        return sum(self._counts.values())

    def offer(self, stream: str, crops: Sequence[Image], labels: Sequence[int]) -> None:
        """Crops of a frame that the oracle has named; some are taken, once the stream's next frame comes."""
        if self._backlog.has_room:
            taken = [(crop, label) for crop, label in zip(crops, labels, strict=True) if self._wanted(label)]
            self._backlog.hold(
                stream, [Errand(crop.copy(), partial(self._add, label), _nothing) for crop, label in taken]
            )

    def left(self, stream: str) -> None:
        """The frame that crops were last offered of is complete."""
        self._backlog.left(stream)

    def profile_is_due(self) -> bool:
        """Whether there are twice as many as when this was last so."""
        if self.taken < self._next_profile:
            return False
        self._next_profile = 2 * self.taken
        return True

    async def close(self) -> None:
        """Take no more."""
        await self._backlog.close(0.0)
        if self._ring is not None:
            self._ring.close()
            self._ring = None

    def _wanted(self, label: int) -> bool:
        self._offered[label] = self._offered.get(label, 0) + 1
        return self._counts.get(label, 0) < ENOUGH or self._offered[label] % RARELY == 0

    def _add(self, label: int, features: NDArray[np.float32]) -> None:
        if self._ring is None:
            self._ring = SampleRing(self.directory, len(features))
        self._ring.add(features[None], np.array([label]))
        self._counts[label] = self._counts.get(label, 0) + 1


def _nothing() -> None:
    """Nobody waits for a sample."""
