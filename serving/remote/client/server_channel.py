"""One server of a backend: its channel, whether it is ready, how busy it is, and the regions shared with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from serving.common.untrusted import printable
from serving.errors import BadInput, Malformed
from serving.remote.breaker import Breaker
from serving.remote.client.address import BackendAddress
from serving.remote.client.pick import PlacedRates
from serving.remote.client.region_ring import RegionRing
from serving.remote.peers import is_here
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.membership import read_loaded, read_process
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import (
    REGION_REGISTER,
    REPOSITORY_INDEX,
    SERVER_METADATA,
    SERVER_READY,
    Rpc,
    message_options,
)

log = logging.getLogger(__name__)

PROBE_EVERY_S = 2.0
"""Seconds from one answer whether it is ready to the next question."""
PROBE_WITHIN_S = 2.0
"""Seconds that it may take to answer that."""
MISSES = 2
"""So many questions running without an answer: it is not asked any more, and calls that wait for it are given up."""
GARBLED = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
"""Calls end so on a connection whose ends do not understand each other any more: one wrong byte in a header stays in
the table of headers that both keep (RFC 7541 §2.3.2), and spoils all calls that refer to it.
"""
CLOSES_WITHIN_S = 30.0
"""Calls on a connection that was replaced have so long to end."""
CONNECTING = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 3000),
    ("grpc.max_reconnect_backoff_ms", 5000),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
"""One connection to the address itself, made anew soon after it was lost. It is lost where a ping has no answer within
ten seconds, which is sent where nothing came for as long: its wire may have been cut without a word."""
LONGEST = 300
"""Characters of a server's words that are shown."""
Question = TypeVar("Question", bound=Message)
Reply = TypeVar("Reply", bound=Message)


class ServerLost(Exception):
    """The server has stopped to answer while a call waited for it."""


class ServerChannel:
    """Used from one event loop; ``start`` begins to ask whether it is ready."""

    def __init__(
        self,
        target: str,
        authority: str,
        address: BackendAddress,
        limits: WireLimits,
        placed: PlacedRates | None = None,
    ) -> None:
        """``target``: one of the backend, as gRPC writes it; ``authority``: its name and port, empty for a socket."""
        self.target, self.authority, self.breaker = target, authority, Breaker()
        self.process = ""
        """Its name in placements; empty as long as it has not been asked, or does not say."""
        self.loaded: frozenset[str] = frozenset()
        """Networks that answer at once there; looked up while there is a placement."""
        self._placed, self._limits = placed or PlacedRates(), limits
        self.ready = False
        """Whether it has said so when it was asked last."""
        self.answered = asyncio.Event()
        """Whether it was asked once, whatever it said."""
        self.verified: set[str] = set()
        """Networks that it is known to serve since the connection was made, by their names there."""
        self.refused: set[str] = set()
        """Those that could not be used as it has described them since then."""
        self.queue = 0
        """Items that waited there when it answered last."""
        self._metadata = None if address.token is None else [("authorization", f"Bearer {address.token}")]
        self._connect = partial(_open, target, authority, address, limits)
        self._channel = self._connect()
        self._closing: set[asyncio.Task[None]] = set()
        self._calls: set[grpc.aio.Call] = set()
        self._in_flight = self._missed = self._garbled = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.refused_by: str | None = None
        """Why it does not let this process in, or cannot be spoken to; None where nothing is known of that."""
        self.regions = RegionRing(self._register) if is_here(target) else None

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._probe()), asyncio.create_task(self._watch())]

    @property
    def waiting(self) -> int:
        return self._in_flight + self.queue

    @property
    def idle(self) -> bool:
        return not self._in_flight

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a call while it is under way."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    async def ask(self, rpc: Rpc[Question, Reply], question: Question, timeout_s: float) -> Reply:
        """Make a call; raises grpc.aio.AioRpcError, or ServerLost where the server has stopped to answer.

        Malformed where what it has answered is no reply.
        """
        call = rpc.on(self._channel)(question, timeout=timeout_s, metadata=self._metadata)
        self._calls.add(call)
        try:
            answer: Reply | None = await call
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ServerLost from None  # the call was cancelled, not who waits for it
        finally:
            self._calls.discard(call)
        if answer is None:
            raise Malformed(f"it is no {rpc.reply.__name__}")
        return answer

    def connect_anew(self) -> None:
        """Replace the connection; calls that are under way on the old one may end."""
        if not self._tasks:  # it is closed
            return
        try:
            old, self._channel = self._channel, self._connect()
        except BadInput as error:  # certificates may be exchanged at this moment: the next failure tries again
            log.warning("%s cannot be connected anew: %s", self.target, error)
            return
        log.info("%s is connected anew", self.target)
        probing, watching = self._tasks
        watching.cancel()
        self._tasks = [probing, asyncio.create_task(self._watch())]
        closing = asyncio.create_task(old.close(CLOSES_WITHIN_S))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End it, with the calls that are under way."""
        ending, self._tasks = [*self._tasks, *self._closing], []
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self.regions is not None:
            self.regions.close()
        await self._channel.close()

    async def _probe(self) -> None:
        try:
            while True:
                ready = await self._is_ready()
                if ready != self.ready:
                    log.info("%s is %sready", self.target, "" if ready else "not ")
                    self.breaker.returned()
                if ready and self._placed.epoch:
                    await self._look_at_networks()
                self.ready = ready
                self.answered.set()
                await asyncio.sleep(PROBE_EVERY_S)
        finally:  # nobody asks a server that is not looked at any more, or waits for it
            self.ready = False
            self.answered.set()

    async def _is_ready(self) -> bool:
        try:
            said = await self.ask(SERVER_READY, pb.ServerReadyRequest(), PROBE_WITHIN_S)
        except grpc.aio.AioRpcError as error:
            self.refused_by = f"{error.code().name}: {said_by(error)}"
            if error.code() in GARBLED:  # ever more seldom where another connection does not help
                self._garbled += 1
                if self._garbled.bit_count() == 1:
                    self.connect_anew()
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                return False
            self._missed += 1
            if self._missed < MISSES:
                return self.ready
            self._give_up()
            return False
        except (ServerLost, Malformed) as error:
            self.refused_by = f"its answer is none: {error}" if isinstance(error, Malformed) else None
            return False
        self._missed, self._garbled, self.refused_by = 0, 0, None
        return said.ready

    async def _look_at_networks(self) -> None:
        """Ask what it is called, and what is loaded there; a server that does not say has no part in placements."""
        try:
            if not self.process:
                said = await self.ask(SERVER_METADATA, pb.ServerMetadataRequest(), PROBE_WITHIN_S)
                self.process = read_process(said)
            if self.process:
                index = await self.ask(REPOSITORY_INDEX, pb.RepositoryIndexRequest(ready=True), PROBE_WITHIN_S)
                self.loaded = read_loaded(index, self._limits)
        except (grpc.aio.AioRpcError, ServerLost, Malformed) as error:
            log.debug("%s does not say what it has loaded: %s", self.target, error)
            self.loaded = frozenset()

    def _give_up(self) -> None:
        """Let the calls that wait fail: who asked may ask elsewhere."""
        for call in self._calls:
            call.cancel()

    async def _watch(self) -> None:
        """Verify its networks anew once the connection has ended: another server may answer the next one."""
        ready, state = grpc.ChannelConnectivity.READY, None
        while True:
            before, state = state, self._channel.get_state(try_to_connect=True)
            if state is not ready or before is ready:  # there may be a new one before this task has its turn
                self.verified.clear()
                self.refused.clear()
                self.process, self.loaded = "", frozenset()
                if self.regions is not None:
                    self.regions.begin_anew()
            await self._channel.wait_for_state_change(state)

    async def _register(self, name: str, size: int) -> bool:
        question = pb.SystemSharedMemoryRegisterRequest(name=name, key=f"/{name}", offset=0, byte_size=size)
        try:
            await self.ask(REGION_REGISTER, question, PROBE_WITHIN_S)
        except (grpc.aio.AioRpcError, ServerLost, Malformed) as error:
            why = said_by(error) if isinstance(error, grpc.aio.AioRpcError) else str(error) or "it does not answer"
            log.info("%s takes no shared memory now, so pictures travel in messages: %s", self.target, why)
            return False
        return True


def said_by(error: grpc.aio.AioRpcError) -> str:
    """The words of a server that has ended a call, in a line fit for a result."""
    return printable(" ".join((error.details() or error.code().name).split()), LONGEST)


def _open(target: str, authority: str, address: BackendAddress, limits: WireLimits) -> grpc.aio.Channel:
    options: list[tuple[str, int | str]] = [*message_options(limits), *CONNECTING]
    if authority:
        options.append(("grpc.default_authority", authority))
    if address.tls is None:
        return grpc.aio.insecure_channel(target, options=options)
    trusted, key, certificate = address.tls.read()
    options.append(("grpc.ssl_target_name_override", authority.rpartition(":")[0] or "localhost"))
    credentials = grpc.ssl_channel_credentials(trusted, key, certificate)
    return grpc.aio.secure_channel(target, credentials, options=options)
