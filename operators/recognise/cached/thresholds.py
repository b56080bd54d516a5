"""Thresholds that follow what is shown now, where every look runs to the end (Dai et al., 2024 [Apparate], §3.2)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from cache_adapt.caches.job import lookup_s
from cache_adapt.caches.newest import LookBatch, NewestLooks, heard
from cache_adapt.caches.retune import RetuneTrigger, retuned
from cache_adapt.caches.store import BuiltCaches
from operators.recognise.account.books import Books
from operators.recognise.cached.building import CutPlace, costs_of
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.classifier import Classifier, probabilities
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitOutputs

log = logging.getLogger(__name__)


class FollowedThresholds:
    """One for a node: its streams share their caches, and with them the thresholds."""

    def __init__(
        self, network: CacheNetwork, places: Sequence[CutPlace], recogniser: Classifier, books: Books, agreement: float
    ) -> None:
        """``places``: all cuts of the network, in its order; ``agreement``: what the audit demands."""
        self._network, self._places, self._recogniser, self._books = network, places, recogniser, books
        self._agreement = agreement
        self._following: _Following | None = None
        self._work: asyncio.Task[None] | None = None

    def ran(self, stream: str, found: ExitOutputs) -> None:
        """Take looks that ran to the end with all taps, where the present caches answered, or would have."""
        network, built = self._network, self._network.built
        if built is None or network.version is None or (found.version != network.version).any():
            return
        if self._following is None or self._following.built is not built:
            self._following = _Following(built, network.cuts, self._recogniser, self._agreement)
        if self._following.took(found) and self._work is None and self._books.oracle_s:
            self._work = asyncio.create_task(self._tune(stream, self._following))

    async def settled(self) -> None:
        """Return when nothing is being tuned."""
        if self._work is not None:
            await asyncio.wait([self._work])

    async def _tune(self, stream: str, following: _Following) -> None:
        """Tune in a thread, while looks go on; the thresholds are exchanged between two batches."""
        took = ThreadTime()
        try:
            tune = partial(following.tuned, following.newest.now, self._places, self._books.oracle_s)
            found = await in_thread(took.of(tune))
            if self._network.built is following.built:
                self._network.tune(found)
                log.debug("%s: thresholds of its caches are now %s", self._network.oracle, found)
        finally:
            self._books.of(stream).hurried(took.seconds)
            self._work = None


class _Following:
    """The answers of one set of caches, followed."""

    def __init__(self, built: BuiltCaches, cuts: Sequence[str], recogniser: Classifier, agreement: float) -> None:
        self.built = built
        self.newest = NewestLooks(built.caches, recogniser.words)
        self._cuts = [cuts.index(cache.tensor) for cache in built.caches]
        self._recogniser, self._agreement = recogniser, agreement
        self._due = RetuneTrigger(agreement)
        self._lookups: Sequence[float] = ()

    def took(self, found: ExitOutputs) -> bool:
        """Take looks; returns whether it is time to tune."""
        words = self._recogniser.words
        answers = words(probabilities(self._recogniser.card, found.scores))
        self.newest.add([found.taps[cut] for cut in self._cuts], answers)
        right, said = np.ones(len(answers), np.bool_), found.place < len(found.taps)
        if said.any():
            right[said] = words(found.distribution[said]) == answers[said]
        return self._due.saw(right.tolist())

    def tuned(self, looks: Sequence[LookBatch], places: Sequence[CutPlace], look_s: float) -> dict[str, float]:
        """The thresholds of the caches that are to be asked, by their tensors; called in a thread."""
        if not self._lookups:
            self._lookups = [lookup_s(cache, time.thread_time) for cache in self.built.caches]
        best = retuned(heard(looks), costs_of(places, self._cuts, self._lookups, look_s), self._agreement)
        chosen = zip(best.chosen, best.thresholds, strict=True)
        return {self.built.caches[place].tensor: threshold for place, threshold in chosen}
