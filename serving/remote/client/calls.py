"""Calls to a backend: one server is asked, and another where that fails, while there is time and room for the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import grpc
import grpc.aio

from serving.common.clock import Clock, sleep
from serving.common.retrying import Backoff
from serving.errors import BackendDown, Malformed, TooLate
from serving.remote.client.address import BackendAddress
from serving.remote.client.server_channel import GARBLED, ServerChannel, ServerLost, said_by
from serving.remote.client.servers import Servers
from serving.scheduling.requests import Urgency


@dataclass(frozen=True, slots=True)
class CallFailure:
    said: str
    """In words, fit for a result."""
    server: bool = True
    """Whether it speaks against the server, which is asked less for it."""
    again: bool = True
    """Whether another server, or the same once more, may answer."""
    late: bool = False
    """The time that the call had is over."""
    anew: bool = False
    """The network has to be looked up anew: it may be another one, or gone."""
    garbled: bool = False
    """Whether it may be the connection that is spoilt."""


LOST = CallFailure("it has stopped to answer")
LATE = CallFailure("it has not answered in time", again=False, late=True)

_SERVER = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
}


def failure(code: grpc.StatusCode, said: str) -> CallFailure:
    """The meaning of a status; a server that refuses what was asked is well, and would refuse it again.

    >>> failure(grpc.StatusCode.UNAVAILABLE, "connection refused").again
    True
    >>> failure(grpc.StatusCode.INVALID_ARGUMENT, "no such shape")
    CallFailure(said='no such shape', server=False, again=False, late=False, anew=True, garbled=False)
    """
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return LATE
    if code in _SERVER:
        return CallFailure(said, garbled=code in GARBLED)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return CallFailure(f"it has too much to do: {said}", server=False)
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return CallFailure(f"it does not let this process in ({said}): check its token and tls", False, again=False)
    return CallFailure(said, server=False, again=False, anew=True)


def is_final(error: Exception) -> bool:
    """Whether a server that has answered so would answer so again, as long as it is the same one."""
    if isinstance(error, grpc.aio.AioRpcError):
        return failure(error.code(), said_by(error)).anew
    return not isinstance(error, ServerLost)


ATTEMPTS = 3
AGAIN = Backoff(first_s=0.05, max_s=0.5)
"""Before the same servers are asked once more."""

Answered = TypeVar("Answered")
Attempt = Callable[[ServerChannel, float], Awaitable[Answered]]
"""Asks one server, in so many seconds at most."""


class RefusedCall(BackendDown):
    """The backend is well, and does not do what it was asked for."""


class AnotherNetwork(Exception):
    """The server serves another network under this name than it did."""


class Calls:
    def __init__(self, address: BackendAddress, servers: Servers, clock: Clock, rng: Random) -> None:
        self._address, self._servers, self._clock, self._rng = address, servers, clock, rng

    async def make(
        self, network: str, attempt: Attempt[Answered], within_s: float, droppable: bool = False
    ) -> Answered:
        """The first answer; raises BackendDown where there is none, TooLate for a droppable call out of time."""
        began_s, failed, last = self._clock.monotonic_s(), list[ServerChannel](), CallFailure(self._servers.why_none)
        for number in range(ATTEMPTS):
            left_s = within_s - (self._clock.monotonic_s() - began_s)
            if left_s <= 0:
                break
            server = self._servers.pick(network, failed) or (self._servers.pick(network) if failed else None)
            if server is None:
                break
            found = await self._attempted(server, attempt, left_s, droppable)
            if not isinstance(found, CallFailure):
                return found[0]
            last = found
            failed.append(server)
            if not last.again:
                break
            if number + 1 < ATTEMPTS and not self._servers.askable(failed):
                await sleep(self._clock, min(AGAIN.delay_s(number, self._rng), left_s))
        if droppable and last.late:
            raise TooLate(f"{self._address} could not answer in time")
        raise (RefusedCall if last.anew else BackendDown)(f"{self._address}: {last.said}")

    async def _attempted(
        self, server: ServerChannel, attempt: Attempt[Answered], left_s: float, droppable: bool
    ) -> tuple[Answered] | CallFailure:
        """One attempt at one server, whose breaker hears how it ended."""
        try:
            with server.busy():
                async with asyncio.timeout(left_s):  # all of it: a network may be looked up before it is asked
                    answer = await attempt(server, left_s)
            server.breaker.succeeded()
            return (answer,)
        except grpc.aio.AioRpcError as error:
            found = failure(error.code(), said_by(error))
        except TimeoutError:
            found = LATE
        except ServerLost:
            found = LOST
        except Malformed as error:
            found = CallFailure(f"its answer is none: {error}")
        except AnotherNetwork as error:
            found = CallFailure(str(error), server=False)
        except BaseException:
            server.breaker.left()
            raise
        if found.anew:
            server.verified.clear()
        if found.late and droppable:  # a short time says nothing of the server
            server.breaker.left()
        elif found.server:
            is_news = server.breaker.failed(self._clock.monotonic_s(), self._rng)
            if is_news and found.garbled and server.breaker.is_open:
                server.connect_anew()
        else:
            server.breaker.succeeded()
        return found


BACKGROUND_SHARE = 4
"""Audits and measurements may take this part of the room, rounded up to one call."""


class CallRoom:
    """Calls wait in their order for room."""

    def __init__(self, name: str, most: int) -> None:
        """``name``: the backend's, for errors."""
        self._name = name
        self._all = asyncio.Semaphore(most)
        self._background = asyncio.Semaphore(max(1, most // BACKGROUND_SHARE))

    @asynccontextmanager
    async def one(self, urgency: Urgency, within_s: float) -> AsyncIterator[None]:
        """Room for one call; TooLate for a droppable one, BackendDown for another, where there is none in this time."""
        rooms = [self._background, self._all] if urgency.background else [self._all]
        taken: list[asyncio.Semaphore] = []
        try:
            try:
                async with asyncio.timeout(within_s):
                    for room in rooms:
                        await room.acquire()
                        taken.append(room)
            except TimeoutError:
                if urgency.droppable:
                    raise TooLate(f"backend {self._name} has no room for a call in time") from None
                raise BackendDown(
                    f"backend {self._name}: no room for a call in {within_s:g} s (in_flight of the query)"
                ) from None
            yield
        finally:
            for room in taken:
                room.release()
