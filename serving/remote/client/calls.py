"""Calls to a backend: one server of it is asked, and another one where that fails, in the time that the call has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import grpc.aio

from serving.common.clock import Clock, sleep
from serving.common.retrying import Backoff
from serving.errors import BackendDown, Malformed, TooLate
from serving.remote.client.address import BackendAddress
from serving.remote.client.failures import LOST, CallFailure, failure
from serving.remote.client.server_channel import ServerChannel, ServerLost
from serving.remote.client.servers import Servers

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
    """Those of one process to one backend."""

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
            if not self._servers.askable(failed):
                await sleep(self._clock, min(AGAIN.delay_s(number, self._rng), left_s))
        if droppable and last.late:
            raise TooLate(f"{self._address} could not answer in time")
        raise (RefusedCall if last.anew else BackendDown)(f"{self._address}: {last.said}")

    async def _attempted(
        self, server: ServerChannel, attempt: Attempt[Answered], left_s: float, droppable: bool
    ) -> tuple[Answered] | CallFailure:
        """One attempt at one server, whose breaker hears how it ended."""
        ended = False
        try:
            with server.busy():
                answer = await attempt(server, left_s)
            ended = True
            server.breaker.succeeded()
            return (answer,)
        except grpc.aio.AioRpcError as error:
            found = failure(error.code(), error.details())
        except ServerLost:
            found = LOST
        except Malformed as error:
            found = CallFailure(f"its answer is none: {error}")
        except AnotherNetwork as error:
            found = CallFailure(str(error), server=False)
        finally:
            if not ended:
                server.breaker.left()
        if found.anew:
            server.verified.clear()
        if found.server and not (found.late and droppable):  # a short time says nothing of the server
            server.breaker.failed(self._clock.monotonic_s(), self._rng)
        elif not found.late:
            server.breaker.succeeded()
        return found
