"""Heads that an adaptation worker makes: wished for, waited for, and checked when they come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.elsewhere import AwaitedElsewhere
from cache_adapt.adaptation.targets import Report, Subject, Target
from cache_adapt.adaptation.triggers import VersionUse
from cache_adapt.adaptation.updates import Update
from operators.recognise.labels import Labels
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_specs import HEAD, RATES, HeadSpec, RatesSpec
from operators.recognise.specialised.makers import HeadWish, Trained
from serving.errors import ModelError, SluiceError
from specialization.heads import measured
from specialization.heads.head import SpecialisedHead
from specialization.rates import MeasuredRates
from specialization.trainer.job import Paid

log = logging.getLogger(__name__)

PATIENCE_S = 180.0
"""How long a head is waited for; then the oracle goes on, and WEG asks again later."""
Found = TypeVar("Found")

MOST_REFUSED = 256
"""Refused versions that are remembered, so that each is logged once."""


class HeadsMadeElsewhere:
    """By what trains elsewhere; a ``HeadMaker``."""

    costs_here = False

    def __init__(
        self, elsewhere: AwaitedElsewhere, node: str, features: Features, labels: Labels, patience_s: float = PATIENCE_S
    ) -> None:
        self._elsewhere, self._node, self._patience_s = elsewhere, node, patience_s
        self._features, self._labels = features, labels
        self._refused: dict[tuple[str, int], None] = {}

    def sample(self, stream: str, template: str, label: int, features: NDArray[np.float32]) -> None:
        """Offer a sample of a stream: what a template's network made of an object, and what the oracle said."""
        self._elsewhere.offer(self._subject(template), stream, label, features)

    async def train(self, wish: HeadWish, paid: Paid) -> Trained:
        paid(0.0)
        target = self._target(wish)
        self.report(wish, 0, VersionUse())
        return await self._awaited(target, lambda update: self._checked(wish, update))

    async def profile(self, template: str, paid: Paid) -> Sequence[MeasuredRates]:
        paid(0.0)
        target = Target(self._subject(template), RATES, msgspec.json.encode(RatesSpec()))
        self._elsewhere.want(target, Report(self._node))
        return await self._awaited(target, lambda update: measured.from_bytes(update.data)[0])

    def newer(self, wish: HeadWish, version: int) -> Trained | None:
        target = self._target(wish)
        update = self._elsewhere.newest(target)
        if update is None or update.version <= version or (target.key, update.version) in self._refused:
            return None
        try:
            return self._checked(wish, update)
        except ModelError as error:
            self._refuse(target, update, error)
            return None

    def report(self, wish: HeadWish, version: int, seen: VersionUse) -> None:
        self._elsewhere.want(self._target(wish), Report(wish.stream, version, seen))

    async def _awaited(self, target: Target, checked: Callable[[Update], Found]) -> Found:
        version = 0
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    update = await self._elsewhere.after(target, version)
                    version = update.version
                    try:
                        return checked(update)
                    except ModelError as error:
                        self._refuse(target, update, error)
        except TimeoutError:
            raise SluiceError(
                f"nothing came from the adaptation worker for {self._patience_s:.0f} s (is `sluice adapt` running?)"
            ) from None

    def _checked(self, wish: HeadWish, update: Update) -> Trained:
        """The head of an update; ModelError where it is damaged, or another than was wished for."""
        head = SpecialisedHead.from_bytes(update.data)
        if head.classes != wish.classes:
            raise ModelError("a specialised head is for other classes")
        self._features.check_dims(wish.template, len(head.weights))
        return Trained(head, update.version)

    def _refuse(self, target: Target, update: Update, error: ModelError) -> None:
        if (target.key, update.version) not in self._refused:
            log.warning("node %s: version %d of %s is refused: %s", self._node, update.version, target.key, error)
            self._refused[target.key, update.version] = None
            if len(self._refused) > MOST_REFUSED:
                del self._refused[next(iter(self._refused))]

    def _target(self, wish: HeadWish) -> Target:
        spec = HeadSpec(wish.classes, wish.training_skew, wish.tolerance)
        return Target(self._subject(wish.template), HEAD, msgspec.json.encode(spec))

    def _subject(self, template: str) -> Subject:
        return Subject(self._node, template, self._features.identity(template), self._labels.digest)
