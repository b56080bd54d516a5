"""The servers of one backend: all addresses that its name has now, one of which is picked for each call."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import islice
from random import Random
from urllib.parse import urlsplit

from serving.common.clock import Clock
from serving.errors import BadInput
from serving.remote.client.address import BackendAddress
from serving.remote.client.pick import PlacedRates, pick
from serving.remote.client.server_channel import ServerChannel
from serving.remote.protocol.parameters import WireLimits

log = logging.getLogger(__name__)

RESOLVED_S = 15.0
"""Seconds from one look at the addresses of a name to the next."""
MOST_SERVERS = 64
"""Addresses of a name; further ones are not used."""

Resolve = Callable[[BackendAddress], Awaitable[Mapping[str, str]]]
"""The targets of a backend at present, with the name and port that it goes by; OSError where no name is known."""


async def resolved(address: BackendAddress) -> Mapping[str, str]:
    """Its addresses, as gRPC writes them, in an order that does not change; names that are not known are left out."""
    found: dict[str, str] = {}
    unknown: OSError | None = None
    for url in address.urls:
        try:
            found |= await _targets(url)
        except OSError as error:
            unknown = error
    if unknown is not None and not found:
        raise unknown
    return found


async def _targets(url: str) -> Mapping[str, str]:
    place = urlsplit(url)
    if place.scheme == "unix":
        return {f"unix:{place.path}": ""}
    host, port = place.hostname or "", place.port or 0
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(f"{host} is no name of a machine") from None
    return dict.fromkeys(sorted({_target(family, each[0], port) for family, *_, each in found}), f"{host}:{port}")


class Servers:
    """Used from one event loop."""

    def __init__(
        self,
        address: BackendAddress,
        limits: WireLimits,
        clock: Clock,
        rng: Random,
        resolve: Resolve = resolved,
        placed: PlacedRates | None = None,
    ) -> None:
        self._address, self._limits, self._clock, self._rng, self._resolve = address, limits, clock, rng, resolve
        self._placed = placed or PlacedRates()
        self._servers: dict[str, ServerChannel] = {}
        self._leaving: list[ServerChannel] = []
        self._task: asyncio.Task[None] | None = None
        self._said = ""

    async def start(self) -> None:
        """Look its addresses up, and ask each whether it is ready; raises BadInput for certificates without use."""
        await self._look()
        self._task = asyncio.create_task(self._follow())
        await asyncio.gather(*(each.answered.wait() for each in self._servers.values()))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(each.close() for each in [*self._servers.values(), *self._leaving]))

    def pick(self, network: str, without: Collection[ServerChannel] = ()) -> ServerChannel | None:
        """A server that is ready and whose breaker lets a call pass; None where there is none but those left out.

        Where a placement names servers for this network that have loaded it, one of those.
        """
        there = self.askable(without)
        if not there:
            return None
        rates = self._placed.of(network)
        named = [each for each in there if rates.get(each.process, 0.0) > 0 and network in each.loaded]
        there = named or [each for each in there if each.process not in rates] or there
        parts = [rates[each.process] for each in named]
        found = there[pick([each.waiting for each in there], self._rng, parts)]
        found.breaker.allows(self._clock.monotonic_s())
        return found

    def is_placed(self, network: str) -> bool | None:
        """Whether a server that a placement names for this network has loaded it; None where there is no placement."""
        rates = self._placed.of(network)
        if not self._placed.epoch:
            return None
        return any(rates.get(each.process, 0.0) > 0 and network in each.loaded for each in self.askable())

    def askable(self, without: Collection[ServerChannel] = ()) -> list[ServerChannel]:
        """The servers that a call could be made to now."""
        now_s = self._clock.monotonic_s()
        there = [each for each in self._servers.values() if each.ready and each.breaker.may_allow(now_s)]
        return [each for each in there if each not in without]

    @property
    def why_none(self) -> str:
        """Why no server can be picked, in a few words."""
        if not self._servers:
            return self._said or "its name has no address"
        failing = [each for each in self._servers.values() if each.ready]
        if failing:
            return "it has failed several times running and is left alone for a moment"
        said = [each.refused_by for each in self._servers.values() if each.refused_by]
        return f"{said[0]} (check its url, token and tls)" if said else "no server of it is ready"

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(RESOLVED_S)
            try:
                await self._look()
            except BadInput as error:
                log.warning("%s: %s", self._address, error)

    async def _look(self) -> None:
        try:
            targets = dict(islice((await self._resolve(self._address)).items(), MOST_SERVERS))
        except OSError as error:
            said = f"its name cannot be looked up ({error.strerror or error})"
            if said != self._said:
                log.warning("%s: %s", self._address, said)
            self._said = said
            return  # the servers that were there may be there still
        self._said = ""
        for target, authority in targets.items():
            if target not in self._servers:
                server = ServerChannel(target, authority, self._address, self._limits, self._placed)
                self._servers[target] = server
                server.start()
        known = set(targets.values())  # the servers of a name that is unknown for the moment may be there still
        gone = [each for each in self._servers.values() if each.target not in targets and each.authority in known]
        self._leaving += [self._servers.pop(each.target) for each in gone]
        for server in [each for each in self._leaving if each.idle]:
            self._leaving.remove(server)
            await server.close()


def _target(family: int, host: str | int, port: int) -> str:
    return f"ipv6:[{host}]:{port}" if family == socket.AF_INET6 else f"ipv4:{host}:{port}"
