"""Training in the process that wants it, beside its frames; an ``Elsewhere``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.window import Sample
from learning.features import numbers
from serving.common.clock import SYSTEM, Clock

log = logging.getLogger(__name__)


class Here:
    """Trains one target after the other while ``run`` runs, in a thread.

    It publishes to itself: ``newest`` has as many artefacts, and as many bytes of them, as the adaptation keeps.
    """

    def __init__(self, adaptation: Adaptation, clock: Clock = SYSTEM) -> None:
        self._adaptation, self._clock = adaptation, clock
        self._refused = ""
        """Why the last wish that was refused cannot be fulfilled."""

    def offer(self, subject: Subject, stream: str, labels: Sequence[int], features: NDArray[np.floating[Any]]) -> None:
        subject.check(stream)
        now_s = self._now_s()
        samples = [Sample(now_s, label, row) for label, row in numbers(labels, features)]
        if samples:
            self._adaptation.add(subject, stream, samples, now_s)

    def want(self, target: Target, stream: str) -> None:
        target.subject.check(stream)
        why_not = self._adaptation.wanted(target, self._now_s())
        if why_not is not None and why_not != self._refused:
            self._refused = why_not
            log.warning("node %s: nothing is trained: %s", target.subject.node, why_not)

    def newest(self, target: Target) -> Update | None:
        return self._adaptation.newest(target.key)

    async def run(self) -> None:
        """Train until this is cancelled."""
        await self._adaptation.run(_is_known, self._clock)

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


async def _is_known(made: Artefact) -> bool:
    """Nobody else has to be told."""
    return True
