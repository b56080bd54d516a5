"""Snapshots of streams on a compacted topic: published as they change, read by whoever takes a stream over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import msgspec
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError

from pipelines.aio_broker import topics_at
from pipelines.background import meanwhile
from pipelines.memory import Remembers
from pipelines.publisher import HOPELESS, Outgoing, Publisher
from pipelines.settings import BrokerSettings
from pipelines.topic_reader import records
from serving.errors import Unavailable

log = logging.getLogger(__name__)

EVERY_S = 15.0
"""Between two snapshots of a stream, unless a phase changed. So much is forgotten when a worker is killed."""
PAUSE_S = 3.0
"""Between two rounds, however many phases change."""
BATCH = 16
"""Snapshots that are made and published at once; frames go on in between."""
HAND_OVER_S = 5.0
ATTEMPTS = 5
RETRY_S = 2.0


class Kept(msgspec.Struct, kw_only=True):
    """A message of the topic; its key is query and stream."""

    schema: Literal["sluice.state/1"] = "sluice.state/1"
    query: str
    stream: str
    at: datetime
    nodes: dict[str, msgspec.Raw]
    """By name of the node; of each node's own making."""


@dataclass(frozen=True)
class Remembering:
    """What is to be kept, and where."""

    topic: str
    nodes: Mapping[str, Remembers]
    """By name."""
    changed: asyncio.Event
    """Set when some phase has changed."""


class KafkaMemory:
    """The memory of one worker; a topic that cannot be used is told of once, and the worker goes on without."""

    def __init__(self, settings: BrokerSettings, query: str, what: Remembering, publisher: Publisher) -> None:
        self._settings, self._query, self._what, self._publisher = settings, query, what, publisher
        self._found: dict[str, bytes] | None = None
        """By stream, what was read since ``reset`` and not yet restored; None before it was read."""
        self._held: dict[str, int] = {}
        """The streams of this worker, and the hash of what was published of each."""
        self._useless = not what.nodes
        self._reading, self._writing = asyncio.Lock(), asyncio.Lock()

    def reset(self) -> None:
        """Partitions moved: read again before the next frame."""
        self._found = None

    async def cover(self) -> None:
        """Read the topic if that has not been done since ``reset``."""
        async with self._reading:
            if self._found is None:
                self._found = {} if self._useless else await self._read()

    def recall(self, stream: str) -> None:
        """Restore what was read of a stream."""
        self._held[stream] = 0
        data = (self._found or {}).pop(stream, None)
        if data is None:
            return
        try:
            kept = msgspec.json.decode(data, type=Kept)
        except msgspec.MsgspecError as error:
            log.warning("topic %s: what was kept of stream %s is damaged: %s", self._what.topic, stream, error)
            return
        for name in kept.nodes.keys() & self._what.nodes.keys():
            self._what.nodes[name].restore(stream, bytes(kept.nodes[name]))

    async def hand_over(self) -> None:
        """Publish what is new; a broker that does not answer in time has what was published before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_OVER_S):
                await self._keep()

    def forget(self, stream: str) -> None:
        """Publish no more of it."""
        self._held.pop(stream, None)

    def kept(self) -> AbstractAsyncContextManager[None]:
        """Publish while the block runs."""
        return meanwhile(self._keep_on())

    async def _keep_on(self) -> None:
        while not self._useless:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._what.changed.wait()
            self._what.changed.clear()
            await self._keep()
            await asyncio.sleep(PAUSE_S)

    async def _keep(self) -> None:
        async with self._writing:
            streams = list(self._held)
            for start in range(0, len(streams), BATCH):
                if not self._useless:
                    await self._publish(streams[start : start + BATCH])

    async def _publish(self, streams: list[str]) -> None:
        nodes = {stream: self._nodes(stream) for stream in streams if stream in self._held}
        marks = {stream: hash(tuple(map(bytes, made.values()))) for stream, made in nodes.items() if made}
        news = [stream for stream, mark in marks.items() if mark != self._held[stream]]
        try:
            await self._publisher.publish([self._outgoing(stream, nodes[stream]) for stream in news])
        except Unavailable as error:
            self._give_up(error)
            return
        self._held.update({stream: marks[stream] for stream in news if stream in self._held})

    def _nodes(self, stream: str) -> dict[str, msgspec.Raw]:
        made = ((name, node.snapshot(stream)) for name, node in self._what.nodes.items())
        return {name: msgspec.Raw(data) for name, data in made if data is not None}

    def _outgoing(self, stream: str, nodes: dict[str, msgspec.Raw]) -> Outgoing:
        kept = Kept(query=self._query, stream=stream, at=datetime.now(UTC), nodes=nodes)
        return Outgoing(self._what.topic, self._key(stream), msgspec.json.encode(kept), kept.at.timestamp())

    def _key(self, stream: str) -> bytes:
        """Several queries may analyse a stream."""
        return f"{self._query}/{stream}".encode()

    async def _read(self) -> dict[str, bytes]:
        for _ in range(ATTEMPTS):
            try:
                return await self._read_once()
            except (*HOPELESS, UnknownTopicOrPartitionError) as error:
                self._give_up(error)
                return {}
            except (KafkaError, OSError) as error:
                log.warning("cannot read topic %s (%s): trying again", self._what.topic, error)
                await asyncio.sleep(RETRY_S)
        log.warning("topic %s cannot be read: streams begin anew", self._what.topic)
        return {}

    async def _read_once(self) -> dict[str, bytes]:
        topic, found = self._what.topic, dict[str, bytes]()
        if topic not in await topics_at(self._settings):
            raise UnknownTopicOrPartitionError(f"no topic {topic}: make it with `sluice topics create`")
        prefix = self._key("")
        async for record in records(self._settings, topic, "what was learnt of streams"):
            if record.key and record.key.startswith(prefix):
                found[record.key[len(prefix) :].decode(errors="replace")] = record.value or b""
        if found:
            log.info("topic %s: %d streams are remembered", topic, len(found))
        return found

    def _give_up(self, error: Exception) -> None:
        self._useless = True
        log.warning("what is learnt of streams will not survive this worker: %s", error)
