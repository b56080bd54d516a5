"""Caches that this worker has built, by a process of its own, from the looks of its own node; its purse pays."""

from __future__ import annotations

import asyncio
import logging

from operators.recognise.account.books import Books
from operators.recognise.account.estimate import Estimate
from operators.recognise.cached.building import BUILDING_S, Network, Runner, answer_of, job
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.makers import CacheMaker
from operators.recognise.cached.own_samples import OwnTaps
from serving.engines.exits import ExitOutputs
from serving.errors import SluiceError

log = logging.getLogger(__name__)

LEAST_SAMPLES, MOST_SAMPLES = 500, 16_000
"""Caches are built from so many samples first, and again whenever there are twice as many, until they pay."""


class MadeHere(CacheMaker):
    """Builds caches where there are none, there are enough samples, and it can be paid."""

    def __init__(self, wanted: Network, network: CacheNetwork, source: CacheSource, books: Books) -> None:
        self._wanted, self._network, self._source, self._books = wanted, network, source, books
        self._samples = OwnTaps(source.samples, len(wanted.cuts))
        self._runner: Runner | None = None
        self._building: asyncio.Task[None] | None = None
        self._building_s, self._due = Estimate(BUILDING_S), LEAST_SAMPLES

    def wants(self, items: int) -> bool:
        """See ``CacheMaker``."""
        busy = self._network.version is not None or self._building is not None
        return not busy and self._samples.taken < min(self._due, MOST_SAMPLES)

    def take(self, found: ExitOutputs) -> None:
        """See ``CacheMaker``."""
        self._samples.add(found)

    def make_where_due(self) -> None:
        """See ``CacheMaker``."""
        if self._network.version is not None or self._building is not None or self._samples.taken < self._due:
            return
        estimate_s = self._building_s.seconds
        if self._books.purse.reserve(estimate_s):
            self._building = asyncio.create_task(self._build(estimate_s))

    def withdrawn(self) -> None:
        """Try again when there are twice as many samples."""
        self._due = 2 * max(self._samples.taken, LEAST_SAMPLES)

    def gives_way(self) -> bool:
        """See ``CacheMaker``: caches from more samples come in their place."""
        return True

    async def settled(self) -> None:
        """See ``CacheMaker``."""
        if self._building is not None:
            await asyncio.wait([self._building])

    async def close(self) -> None:
        """See ``CacheMaker``."""
        if self._building is not None:
            self._building.cancel()
            await asyncio.wait([self._building])
        if self._runner is not None:
            await self._runner.close()
        self._samples.close()

    async def _build(self, estimate_s: float) -> None:
        seconds, network, samples = 0.0, self._network, self._samples
        wanted = job(self._wanted, self._books.oracle_s, samples.directory, self._source.agreement, samples.taken)
        try:
            self._runner = self._runner or self._source.runner()
            answer = await answer_of(self._runner, wanted)
            seconds = max(answer.processor_s, 0.0)
            built = answer.built()
            await network.prepare()
            network.answer_with(built)
            log.info("%s: caches at %d places begin to prove themselves", network.oracle, len(built.caches))
        except (SluiceError, ValueError) as error:
            log.info("%s: %s", network.oracle, error)
            self.withdrawn()
        finally:
            self._books.purse.settle("training", estimate_s, seconds)
            self._building_s.took(seconds or estimate_s)
            self._building = None
