"""Caches that this worker makes from the looks of its own node; its purse pays.

A process of its own trains them on samples. Then they listen: what they would have said of further looks tells which
of them are to answer, and from what threshold on. With few samples only the last place of the network has a chance.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import msgspec

from cache_adapt.caches.store import BuiltCaches
from cache_adapt.compose.problem import WORTH
from operators.recognise.account.books import Books
from operators.recognise.account.estimate import Estimate
from operators.recognise.cached.building import CutNetwork, Runner, answer_of, job
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.hearing import Hearing
from operators.recognise.cached.makers import CacheMaker
from operators.recognise.cached.own_samples import OwnTaps
from operators.recognise.classifier import Classifier
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitOutputs
from serving.errors import SluiceError

log = logging.getLogger(__name__)

LEAST_SAMPLES, MOST_SAMPLES = 500, 16_000
"""Caches are trained on so many samples first, and again whenever there are twice as many."""
EVERYWHERE = 2 * LEAST_SAMPLES
"""With so many samples they are trained at all places."""
PLACE_S = 0.6
"""First guess of the processor time of training at one place, the start of the process included."""


class CachesMadeHere(CacheMaker):
    """Makes caches, and better ones from more samples, where that can be paid."""

    def __init__(
        self, wanted: CutNetwork, network: CacheNetwork, source: CacheSource, books: Books, recogniser: Classifier
    ) -> None:
        self._wanted, self._network, self._source, self._books = wanted, network, source, books
        self._recogniser = recogniser
        self._samples = OwnTaps(source.samples, len(wanted.cuts))
        self._runner: Runner | None = None
        self._work: asyncio.Task[None] | None = None
        self._trained: BuiltCaches | None = None
        """The newest ones, unless they have listened twice."""
        self._hearing: Hearing | None = None
        self._place_s, self._due, self._speedup = Estimate(PLACE_S), LEAST_SAMPLES, 1.0

    def wants(self, items: int) -> bool:
        if self._work is not None:
            return False
        if self._hearing is not None:
            return not self._hearing.is_enough
        return self._samples.taken < min(self._due, MOST_SAMPLES)

    def take(self, found: ExitOutputs) -> None:
        self._samples.add(found)
        if self._hearing is not None and not self._hearing.is_enough:
            self._hearing.hear(found)

    def make_where_due(self) -> None:
        if self._work is not None:
            return
        if self._hearing is not None:
            if self._hearing.is_enough:
                self._work = asyncio.create_task(self._choose(self._hearing))
        elif self._due <= self._samples.taken and self._due <= MOST_SAMPLES:
            last = len(self._wanted.cuts) - 1
            places = range(last + 1) if self._samples.taken >= EVERYWHERE else (last,)
            estimate_s = self._place_s.seconds * len(places)
            if self._books.purse.reserve(estimate_s):
                self._work = asyncio.create_task(self._train(tuple(places), estimate_s))

    def waits_for(self) -> str:
        if self._work is not None or self._hearing is not None:
            return "new ones are being tried"
        return f"{self._samples.taken} of the {self._due} samples are there from which they are made next"

    def withdrawn(self) -> None:
        """See ``CacheMaker``: they listen once more, to what is shown now; then others are made from more samples."""
        self._speedup = 1.0
        if self._trained is not None and self._hearing is None:
            self._hearing = Hearing(self._trained, self._wanted.cuts, self._recogniser)
            self._trained = None

    def gives_way(self) -> bool:
        """See ``CacheMaker``: caches from more samples come in their place."""
        return True

    async def settled(self) -> None:
        if self._work is not None:
            await asyncio.wait([self._work])

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        if self._runner is not None:
            await self._runner.close()
        self._samples.close()

    async def _train(self, places: tuple[int, ...], estimate_s: float) -> None:
        """Have caches trained at these places, and let them listen."""
        seconds, network, samples, source = 0.0, self._network, self._samples, self._source
        self._due = 2 * samples.taken
        wanted = job(self._wanted, self._books.oracle_s, samples.directory, source.agreement, samples.taken)
        try:
            self._runner = self._runner or source.runner()
            answer = await answer_of(self._runner, msgspec.structs.replace(wanted, untuned_at=places))
            seconds = max(answer.processor_s, 0.0)
            self._trained = answer.built()
            self._hearing = Hearing(self._trained, self._wanted.cuts, self._recogniser)
        except (SluiceError, ValueError) as error:
            log.info("%s: no caches: %s", network.oracle, error)
        finally:
            self._books.purse.pay("training", estimate_s, seconds)
            self._place_s.took((seconds or estimate_s) / len(places))
            self._work = None

    async def _choose(self, hearing: Hearing) -> None:
        """Let those that pay answer, if there are any, and if they do better than those that answer now."""
        network, agreement, took = self._network, self._source.agreement, ThreadTime()
        try:
            best = await in_thread(took.of(partial(hearing.best, self._books.oracle_s, agreement)))
            if best is None:
                if hearing.goes_on():
                    return
                log.info("%s: caches from %d samples do not pay", network.oracle, self._samples.taken)
            elif network.version is None or best.speedup * (1 - WORTH) > self._speedup:
                self._speedup = best.speedup
                network.answer_with(hearing.chosen(best, agreement))
                log.info("%s: caches at %d places begin to prove themselves", network.oracle, len(best.chosen))
            self._hearing = None
            self._books.purse.spend("training", hearing.spent_s)
        finally:
            self._books.purse.spend("training", took.seconds)
            self._work = None
