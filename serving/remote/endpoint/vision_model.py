"""Vision models behind endpoints: pictures go out one by one, a probability for each label comes back."""

from __future__ import annotations

import asyncio
import logging
import random
from functools import partial

import numpy as np
from numpy.typing import NDArray

from serving.budgets.day_budget import DayBudget
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array, Image
from serving.common.threads import in_thread
from serving.common.untrusted import printable
from serving.errors import ModelError, SluiceError, Unavailable
from serving.remote.endpoint.answer import is_listed, shares
from serving.remote.endpoint.caller import EndpointCaller, NotPaid
from serving.remote.endpoint.question import data_url, without_padding
from serving.remote.endpoint.terms import VisionEndpoint
from serving.scheduling.requests import Urgency

log = logging.getLogger(__name__)

MOST_WAITING = 64
"""Looks whose calls have not ended; further ones are refused."""


class VisionModel:
    """Used from one event loop."""

    def __init__(
        self, endpoint: VisionEndpoint, budget: DayBudget, clock: Clock = SYSTEM, rng: random.Random | None = None
    ) -> None:
        """``budget``: pays for every request."""
        self.endpoint, self.card = endpoint, endpoint.card()
        self._budget, self._clock = budget, clock
        self._caller = EndpointCaller(endpoint, budget, clock, rng or random.Random())
        self.spending = self._caller.spending
        self._turn = asyncio.Semaphore(endpoint.calls.in_flight)
        self._waiting = 0
        self._failing = False
        """Whether the latest look has no answer; told once."""

    async def load(self) -> None:
        """Ask the endpoint for its models; ModelError where it refuses the key, or has others only.

        An endpoint that does not answer, or lists none, may do so later: it is logged.
        """
        try:
            names = await self._caller.names()
        except Unavailable as error:
            log.warning("%s: %s; it is tried again with every look", self._where, error)
            return
        except ModelError as error:
            raise ModelError(f"{self._where}: {error}") from None
        if names and self.endpoint.model not in names:
            shown = ", ".join(printable(name, 60) for name in names[:10])
            raise ModelError(f"{self._where}: the server has no model {self.endpoint.model!r}; it has {shown}")

    async def infer(self, batch: Array, urgency: Urgency) -> list[Array]:
        """N × K shares of N pictures as the card takes them; Unavailable where one of them has no answer."""
        if batch.dtype != np.uint8 or batch.shape[1:] != self.card.input.item_shape:
            given = f"{batch.dtype.name} {' × '.join(map(str, batch.shape))}"
            raise ModelError(f"{self._where} takes pictures of {self.endpoint.detail} pixels, was given {given}")
        looks = [self._look(picture, urgency.background) for picture in batch]
        found = await asyncio.gather(*looks, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        rows = [each for each in found if isinstance(each, np.ndarray)]
        return [np.stack(rows) if rows else np.empty((0, len(self.card.classes)), np.float32)]

    async def close(self) -> None:
        """Close its connections, and say what was spent."""
        await self._caller.close()
        if self.spending.calls or self.spending.refused:
            log.info("%s: %s", self._where, self.spending.told(self._budget.terms.per_day.unit))

    @property
    def _where(self) -> str:
        return f"model {self.endpoint.name}"

    async def _look(self, picture: Image, background: bool) -> NDArray[np.float32]:
        """The share of each class; Unavailable where a budget is spent or the endpoint does not answer."""
        began_s = self._clock.monotonic_s()
        self._waiting += 1
        try:
            if self._waiting > MOST_WAITING:
                raise NotPaid(f"{MOST_WAITING} looks wait already")
            self._caller.check(background)
            url = await in_thread(partial(_sent, picture))
            async with self._turn:
                reply = await self._caller.ask(url, background)
        except SluiceError as error:
            if isinstance(error, NotPaid):
                self.spending.refused += 1
            else:
                self.spending.failed += 1
            self._tell(failing=True, why=str(error))
            raise Unavailable(f"{self._where}: {error}") from None
        finally:
            self._waiting -= 1
        self._tell(failing=False)
        self.spending.answered += 1
        self.spending.unlisted += not is_listed(reply, self.card.classes)
        self.spending.seconds += self._clock.monotonic_s() - began_s
        return shares(reply, self.card.classes, self.endpoint.confidence)

    def _tell(self, failing: bool, why: str = "") -> None:
        if failing and not self._failing:
            log.warning("%s: %s; objects stay as they are known until it answers", self._where, why)
        elif self._failing and not failing:
            log.warning("%s: it answers again", self._where)
        self._failing = failing


def _sent(picture: Image) -> str:
    return data_url(without_padding(picture))
