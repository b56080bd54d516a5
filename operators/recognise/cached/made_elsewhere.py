"""Caches that an adaptation worker makes: wished for, checked when they come, and left out where they do not pay."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.send_rate import SendRate
from cache_adapt.adaptation.targets import Report, Subject, Target
from cache_adapt.adaptation.updates import Update
from cache_adapt.caches.job import lookup_s
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.worth import paying
from cache_adapt.compose.problem import WORTH
from operators.recognise.account.books import Books
from operators.recognise.cached.building import CUT_S, CutPlace
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.cache_seen import CacheSeen
from operators.recognise.cached.cache_specs import CACHES, CachesSpec
from operators.recognise.cached.makers import CacheMaker
from operators.recognise.labels import Labels
from serving.common.clock import Clock
from serving.engines.exits import ExitOutputs
from serving.errors import ModelError, SluiceError

if TYPE_CHECKING:
    from serving.catalogue.cards import ModelCard

log = logging.getLogger(__name__)

SENT_S = 0.0002
"""Processor seconds to write and send a sample of the largest size."""
CHECKED_S = 1.0
"""Time between two looks for a newer version."""
TOLD_S = 20.0
"""Time between two reports of a stream."""
MOST_WAITING = 64
"""Batches of samples that wait for the end of their frame."""


@dataclass(frozen=True)
class CacheOrder:
    """The caches that are wanted for a node."""

    target: Target
    spec: CachesSpec
    labels: Labels

    @classmethod
    def of(cls, node: str, oracle: str, card: ModelCard, places: Sequence[CutPlace], agreement: float) -> CacheOrder:
        """``oracle``: the network by its name in the query. ModelError where samples would be too large."""
        labels = Labels(card.classes)
        try:
            spec = CachesSpec.of(places, agreement)
        except ValueError as error:
            raise ModelError(f"{oracle}: {error}") from None
        subject = Subject(node, oracle, card.identity, labels.digest)
        return cls(Target(subject, CACHES, msgspec.json.encode(spec)), spec, labels)


class CachesMadeElsewhere(CacheMaker):
    """Sends samples and wishes, and takes what comes."""

    sample_s = SENT_S

    def __init__(
        self, order: CacheOrder, network: CacheNetwork, books: Books, elsewhere: Elsewhere, clock: Clock
    ) -> None:
        self._order, self._network, self._books = order, network, books
        self._elsewhere, self._clock = elsewhere, clock
        self._rate, self._seen = SendRate(clock.monotonic_s()), CacheSeen()
        self._waiting: deque[ExitOutputs] = deque(maxlen=MOST_WAITING)
        self._checked_s = float("-inf")
        self._known = 0
        """The newest version that was looked at, whether it is in use or not."""
        self._in_use, self._hit_rate = 0, 0.0
        self._opening: asyncio.Task[None] | None = None

    def wants(self, items: int) -> bool:
        return self._rate.allows(items, self._clock.monotonic_s())

    def take(self, found: ExitOutputs) -> None:
        """See ``CacheMaker``; they are sent when it is known whose frame it was."""
        self._waiting.append(found)
        self._rate.sent(len(found.place))

    def looked(self, stream: str, version: int | None, answered: int, words: Sequence[str]) -> None:
        """Send what was taken: a frame's looks and this call follow each other, but where another link runs between.

        Then a sample may count as another stream's; the stream only says among whom the room for samples is shared.
        """
        while self._waiting:
            self._offer(stream, self._waiting.popleft())
        seen = self._seen.of(stream)
        if version is not None:
            seen.asked, seen.answered = seen.asked + len(words), seen.answered + answered
        numbers = map(self._order.labels.number, words)
        self._seen.looked(stream, [number for number in numbers if number is not None])
        now_s = self._clock.monotonic_s()
        if seen.told_s is None or now_s - seen.told_s >= TOLD_S:
            seen.told_s = now_s
            version = self._in_use if self._network.version is not None else 0
            self._elsewhere.want(self._order.target, Report(stream, version, self._seen.told(stream, self._hit_rate)))

    def audited(self, stream: str, version: object, agrees: bool) -> None:
        if version is not None and version == self._network.version:
            seen = self._seen.of(stream)
            seen.audits, seen.agreed = seen.audits + 1, seen.agreed + agrees

    def make_where_due(self) -> None:
        """Take a newer version than the last, between two batches."""
        now_s = self._clock.monotonic_s()
        if self._opening is not None or now_s - self._checked_s < CHECKED_S:
            return
        self._checked_s = now_s
        update = self._elsewhere.newest(self._order.target)
        if update is None or update.version <= self._known:
            return
        self._known = update.version
        try:
            built = self._paying(self._checked(update))
        except SluiceError as error:
            log.warning("%s: version %d of its caches is refused: %s", self._network.oracle, update.version, error)
            return
        if built is None:
            log.info("%s: version %d of its caches would not pay here", self._network.oracle, update.version)
            return
        self._opening = asyncio.create_task(self._answer_with(built, update.version))

    def waits_for(self) -> str:
        return (
            "the adaptation worker has sent none that pay here"
            if self._known
            else "the adaptation worker has sent none"
        )

    def withdrawn(self) -> None:
        """See ``CacheMaker``: a later version may do better."""
        self._in_use = 0

    def gives_way(self) -> bool:
        """See ``CacheMaker``: they stay for the other streams, and reports say how they do."""
        return False

    def forget(self, stream: str) -> None:
        self._seen.forget(stream)

    async def settled(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])

    def _offer(self, stream: str, found: ExitOutputs) -> None:
        through = found.place == len(found.taps)
        features = np.concatenate([tap[through] for tap in found.taps], axis=1)
        answers = found.scores[through].reshape(len(features), -1).argmax(axis=1)
        for row, answer in zip(features, answers, strict=True):
            self._elsewhere.offer(self._order.target.subject, stream, int(answer), row)

    def _checked(self, update: Update) -> BuiltCaches:
        """The caches of an update; ModelError where they are damaged, or others than were wished for."""
        built, target = BuiltCaches.from_bytes(update.data), self._order.target
        why = self._order.spec.why_unfit(built, target.subject.network_identity, len(self._order.labels.words))
        if why is not None:
            raise ModelError(f"learned caches are {why}")
        return built

    def _paying(self, built: BuiltCaches) -> BuiltCaches | None:
        """Those of the caches that pay on this machine; None where none do."""
        shares = {cut.tensor: cut.share for cut in self._order.spec.cuts}
        oracle_s, cards = self._books.oracle_s, built.card.caches
        kept = paying(
            [each.hit_rate for each in cards],
            [shares[each.tensor] for each in cards],
            [lookup_s(each, time.thread_time) / oracle_s for each in built.caches],
            WORTH + len(shares) * CUT_S / oracle_s,
        )
        if not kept:
            return None
        card = msgspec.structs.replace(built.card, caches=tuple(cards[place] for place in kept))
        return replace(built, card=card, caches=tuple(built.caches[place] for place in kept))

    async def _answer_with(self, built: BuiltCaches, version: int) -> None:
        try:
            await self._network.prepare()
        except SluiceError as error:
            log.warning("%s: no caches: %s", self._network.oracle, error)
            return
        finally:
            self._opening = None
        self._network.answer_with(built)
        self._in_use, self._hit_rate = version, sum(each.hit_rate for each in built.card.caches)
        self._seen.begin()
        log.info(
            "%s: version %d of its caches, at %d places, begins to prove itself",
            *(self._network.oracle, version, len(built.caches)),
        )
