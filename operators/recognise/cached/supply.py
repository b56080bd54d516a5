"""Supplies the caches of a node: built ones from a file, or caches that are made from looks of its streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from operators.inference import Inference
from operators.recognise.account.books import Books
from operators.recognise.account.outlook import too_fast
from operators.recognise.cached.building import CutNetwork, CutPlace
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.made_elsewhere import CacheOrder, CachesMadeElsewhere
from operators.recognise.cached.made_here import CachesMadeHere
from operators.recognise.cached.makers import CacheMaker
from operators.recognise.cached.sampled_engine import SampledEngine
from operators.recognise.cached.thresholds import FollowedThresholds
from operators.recognise.classifier import Classifier
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitOutputs
from serving.errors import SluiceError

if TYPE_CHECKING:
    from cache_adapt.caches.store import BuiltCaches

log = logging.getLogger(__name__)

TAPPED = 0.06
"""The extra cost of a look with open taps, as a share of the network's."""
PATIENCE = 60.0
"""Caches are left when they have cost more than they saved by so many looks of the network that they sit in."""
SILENT_EVERY = 8
"""While caches answer, at most every so-manieth frame's looks go through as a whole, to be samples."""


class CacheSupply:
    """The caches of one node, for all its streams."""

    def __init__(
        self,
        engine: Inference,
        sampled: SampledEngine | None,
        recogniser: Classifier,
        source: CacheSource,
        books: Books,
    ) -> None:
        """``sampled``: the engine that the node's recogniser uses, by which samples are taken; None: there are none."""
        self.network: CacheNetwork | None = None
        self._engine, self._recogniser, self._source, self._books = engine, recogniser, source, books
        self.model = source.variant or recogniser.roles.oracle
        """The network that the caches sit in."""
        self._maker: CacheMaker | None = None
        self._thresholds: FollowedThresholds | None = None
        self._opening: asyncio.Task[None] | None = None
        self._lost_s, self._turns = 0.0, 0
        self._why: str | None = None
        """Why they are not used, where that is certain or was so the last time."""
        if sampled is not None:
            sampled.sample_for(self)

    @property
    def whole_s(self) -> float:
        """Processor seconds of one look of the network without caches; the oracle's where a variant has not run yet."""
        return self._books.look_s(self.model) or self._books.oracle_s

    async def prepare(self) -> None:
        """Cut the oracle, so that built caches can answer; where that fails it is logged, and the oracle answers.

        A variant is cut once it answers on a stream and that can be paid: it may never be trusted.
        """
        try:
            await self._prepare()
        except SluiceError as error:
            self.failed(error)

    async def _prepare(self) -> None:
        built = self._source.built
        if built is not None:
            self.network = CacheNetwork(self._engine, self.model, built.tensors, self._source.releases)
            if self._source.variant is None:
                await self.network.prepare()
                self.network.answer_with(built)
            if not (self._source.is_adapted or self._source.releases):
                return
        took = ThreadTime()
        places = await in_thread(took.of(self._source.places))
        if built is None:
            self._books.purse.spend("samples", took.seconds)
        if not places:
            self._why = "there is no place for a cache"
            log.info("%s: %s", self.model, self._why)
            return
        if self.network is None:
            self.network = CacheNetwork(self._engine, self.model, [cut.tensor for cut in places], self._source.releases)
        if built is None or self._source.is_adapted:
            self._maker = self._made_for(self.network, places)
        if self._source.releases:
            self._follow(self.network, places)

    def looked(self, answered: int, through: int, cost_s: float, begun_s: float = 0.0) -> None:
        """Note what a turn has cost and spared; caches are withdrawn where they do not pay.

        ``begun_s``: what others had already spent on the network for each look.
        """
        whole_s = self.whole_s
        self._lost_s = max(0.0, self._lost_s + cost_s - (answered + through) * (whole_s - begun_s))
        if self._lost_s > PATIENCE * whole_s > 0 and self.network is not None and self.network.version is not None:
            self._why = "they cost more than they saved"
            log.info("%s: its caches are left: they cost more than they save", self.model)
            self.network.withdraw()
            self._lost_s = 0.0
            if self._maker is not None:
                self._maker.withdrawn()

    def named(self, stream: str, version: object, answered: int, words: Sequence[str]) -> None:
        """Note the answers to all looks of a frame, ``answered`` of them by caches of this version."""
        if self._maker is not None and self.network is not None and self._worth_it():
            current = self.network.version if version == self.network.version else None
            self._maker.looked(stream, current, answered, words)

    def audited(self, stream: str, version: object, agrees: bool) -> None:
        """Note that an answer of caches was compared with the oracle's."""
        if self._maker is not None:
            self._maker.audited(stream, version, agrees)

    def failed(self, error: SluiceError) -> None:
        """The network does not run with exits: it answers without caches in this process."""
        self._why = str(error)
        log.warning("%s: no caches: %s", self.model, error)
        if self.network is not None:
            self.network.withdraw()
        self.network = None

    def barred(self) -> None:
        """The audit of a stream has switched the caches off."""
        if self._maker is None or self.network is None or self.network.version is None:
            return
        if self._maker.gives_way():
            self._why = "they agreed too seldom with the oracle"
            self.network.withdraw()
            self._maker.withdrawn()

    def why_silent(self) -> str | None:
        """Why no caches answer, or prove that they may."""
        if self.network is not None and self.network.version is not None:
            return None
        waits = self._maker.waits_for() if self._maker is not None else "their network is opened when that can be paid"
        return f"learned caches are not used: {self._why or too_fast(self._books.oracle_s) or waits}"

    def make_where_due(self) -> None:
        """Have caches made, or take newer ones, where that may pay; open a variant with those that are built."""
        built, network = self._source.built, self.network
        if built is not None and network is not None and not network.is_open and self._opening is None:
            purse, opening_s = self._books.purse, self._source.opening_s
            # What an audit costs stays in the purse, or the variant itself could not answer.
            if purse.may_spend(opening_s + self._books.oracle_s) and purse.reserve(opening_s):
                self._opening = asyncio.create_task(self._open(network, built))
            return
        if self._maker is not None and self.network is not None and self._worth_it():
            self._maker.make_where_due()

    def silences(self, items: int) -> bool:
        """Whether the next batch goes through as a whole, though caches answer: then its looks become samples.

        What that costs is in the cost of looks with caches, so that it is taken off what they save.
        """
        maker, network = self._maker, self.network
        if maker is None or network is None or network.version is None:
            return False
        self._turns += 1
        if self._turns % SILENT_EVERY or not maker.wants(items):
            return False
        lost_s = max(self._books.oracle_s - network.look_s(), 0.0)
        if not self._books.purse.may_spend((lost_s + maker.sample_s) * items):
            return False
        self._books.purse.spend("samples", maker.sample_s * items)
        network.be_silent_once()
        return True

    def may_listen(self, items: int) -> bool:
        """Whether these looks may go through with open taps, which caches hear; an audit can be paid then too."""
        kept_s = self._books.oracle_s if self._source.variant is None else 2 * self._books.oracle_s
        return self._books.purse.may_spend(TAPPED * self.whole_s * items + kept_s)

    def listened(self, stream: str, items: int, lookups_s: float) -> None:
        self._books.of(stream).spend("shadow", TAPPED * self.whole_s * items + lookups_s)

    def tapped(self, items: int) -> str | None:
        """See ``BatchSampler``: where that can be paid."""
        maker, network = self._maker, self.network
        if maker is None or network is None or not self._worth_it() or not maker.wants(items):
            return None
        extra_s = (TAPPED * self._books.oracle_s + maker.sample_s) * items
        if not self._books.purse.may_spend(extra_s):
            return None
        if not network.is_open:  # frames do not wait for that
            if self._opening is None and self._books.purse.reserve(self._source.opening_s):
                self._opening = asyncio.create_task(self._open(network))
            return None
        self._books.purse.spend("samples", extra_s)
        if network.version is not None:
            network.be_silent_once()
        return network.name

    def keeps(self, items: int) -> bool:
        """See ``BatchSampler``: where that can be paid."""
        maker = self._maker
        if maker is None or not self._worth_it() or not maker.wants(items):
            return False
        sample_s = maker.sample_s * items
        if self._books.purse.may_spend(sample_s):
            self._books.purse.spend("samples", sample_s)
            return True
        return False

    def sampled(self, found: ExitOutputs) -> None:
        """Keep samples; where they cannot be kept there will be no caches, but the looks stand."""
        if self._maker is None:
            return
        try:
            self._maker.take(found)
        except SluiceError as error:
            self._why = str(error)
            log.warning("%s: no caches: %s", self.model, error)
            self._maker = None

    def ran(self, stream: str, found: ExitOutputs) -> None:
        """Looks went to the end with open taps, and caches have answered on the way, or would have."""
        if self._thresholds is not None:
            self._thresholds.ran(stream, found)

    def released(self, stream: str, found: ExitOutputs) -> None:
        """A run that releases has ended: thresholds follow it, and its looks may become samples."""
        self.ran(stream, found)
        if self.keeps(len(found.place)):
            self.sampled(replace(found, place=np.full_like(found.place, len(found.taps))))

    def hurried(self, stream: str, seconds: float) -> None:
        """Early answers have cost a stream so much beyond the oracle's own run."""
        self._books.of(stream).hurried(seconds)

    def forget(self, stream: str) -> None:
        if self._maker is not None:
            self._maker.forget(stream)

    async def settled(self) -> None:
        """Return when nothing is being made or opened."""
        if self._maker is not None:
            await self._maker.settled()
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._thresholds is not None:
            await self._thresholds.settled()

    async def close(self) -> None:
        """Give up what is being made."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._maker is not None:
            await self._maker.close()
        if self._thresholds is not None:
            await self._thresholds.settled()

    def _follow(self, network: CacheNetwork, places: Sequence[CutPlace]) -> None:
        self._thresholds = FollowedThresholds(network, places, self._recogniser, self._books, self._source.agreement)

    def _made_for(self, network: CacheNetwork, places: Sequence[CutPlace]) -> CacheMaker:
        source, card = self._source, self._engine.card(self.model)
        if source.elsewhere is None:
            wanted = CutNetwork(card.name, card.identity, len(card.classes), places)
            return CachesMadeHere(wanted, network, source, self._books, self._recogniser)
        order = CacheOrder.of(source.node, self.model, card, places, source.agreement)
        return CachesMadeElsewhere(order, network, self._books, source.elsewhere, source.clock)

    def _worth_it(self) -> bool:
        return self._books.oracle_s > 0 and too_fast(self._books.oracle_s) is None

    async def _open(self, network: CacheNetwork, built: BuiltCaches | None = None) -> None:
        """Load the network; these answer in it."""
        seconds = estimate_s = self._source.opening_s
        try:
            seconds = await network.prepare()
            if built is not None:
                network.answer_with(built)
        except SluiceError as error:
            self.failed(error)
        finally:
            self._books.purse.pay("samples", estimate_s, seconds)
