"""Snapshots of streams on a compacted topic: published as they change, read by the worker that takes a stream over."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from typing import Literal

import msgspec
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError

from operators.wire.bounds import Id, Label, Moment
from operators.wire.mishaps import Mishaps
from pipelines.kafka.async_clients import topics_at
from pipelines.kafka.topic_reader import records
from pipelines.partition.duties import StateConfig
from pipelines.partition.publisher import HOPELESS, Outgoing, Publisher
from pipelines.partition.queries import StateStore
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from serving.common.retrying import BROKER_BACKOFF, Backoff, Persistence, retrying
from serving.common.untrusted import decode
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

SNAPSHOT_EVERY_S = 15.0
"""Time between two snapshots of a stream, unless a phase changed; a worker that is killed loses so much."""
PAUSE_S = 3.0
"""Shortest time between two rounds of snapshots."""
BATCH = 16
"""Number of snapshots that are made and published at once; frames are analysed in between."""
SAVE_TIMEOUT_S = 5.0
MAX_SNAPSHOT_BYTES = 1 << 20
"""Largest snapshot that is read; a usual one takes some kilobytes, most of them exits."""
MAX_BYTES = 64 << 20
"""Memory for the snapshots of streams of which no frame has come yet."""
ATTEMPTS = 5


class StreamSnapshot(msgspec.Struct, kw_only=True):
    """A message of the state topic; its key is query and stream."""

    schema: Literal["sluice.state/1"] = "sluice.state/1"
    query: Id
    stream: Id
    at: Moment
    nodes: dict[Label, msgspec.Raw]
    """The snapshot of each node, by the node's name."""


class TopicStateStore(StateStore):
    """Keeps one worker's stream states on a topic; an unusable topic is logged once, and the worker goes on without."""

    def __init__(
        self,
        settings: BrokerSettings,
        query: str,
        what: StateConfig,
        publisher: Publisher,
        backoff: Backoff = BROKER_BACKOFF,
    ) -> None:
        self._settings, self._query, self._what, self._publisher = settings, query, what, publisher
        self._persistence = Persistence(backoff, ATTEMPTS)
        self._found: BoundedStore | None = None
        """Snapshots that were read since ``reset`` and not yet restored, by stream; None before they were read."""
        self._held: dict[str, int] = {}
        """The hash of the snapshot that was published last, for each stream of this worker."""
        self._mishaps = Mishaps(log)
        self._useless = not what.nodes
        self._reading, self._writing = asyncio.Lock(), asyncio.Lock()

    def reset(self) -> None:
        self._found = None

    async def read(self) -> None:
        async with self._reading:
            if self._found is None:
                self._found = _nothing() if self._useless else await self._read()

    def restore(self, stream: str) -> None:
        """Restore the snapshot that was read of a stream."""
        self._held[stream] = 0
        data = None if self._found is None else self._found.pop(stream)
        if data is None:
            return
        try:
            snapshot = decode(data, StreamSnapshot)
        except Malformed as error:
            self._note("is damaged", f"stream {stream}: {error}")
            return
        for name in snapshot.nodes.keys() & self._what.nodes.keys():
            self._restore_node(name, stream, bytes(snapshot.nodes[name]))

    def _restore_node(self, name: str, stream: str, data: bytes) -> None:
        """Restore a node, which begins anew if it cannot use the snapshot, which is not trusted."""
        try:
            self._what.nodes[name].restore(stream, data)
        except Exception as error:
            self._note("cannot be used", f"stream {stream}, node {name}: {type(error).__name__}: {error}")
            self._what.nodes[name].forget(stream)

    def _note(self, what: str, detail: str) -> None:
        self._mishaps.note(f"topic {self._what.topic}: the snapshot of a stream {what}", detail)

    async def save(self) -> None:
        """Publish what is new; a broker that does not answer in time keeps what was published before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SAVE_TIMEOUT_S):
                await self._save_changed()

    def forget(self, stream: str) -> None:
        self._held.pop(stream, None)

    def saving(self) -> AbstractAsyncContextManager[None]:
        return meanwhile(self._save_now_and_then())

    async def _save_now_and_then(self) -> None:
        while not self._useless:
            with suppress(TimeoutError):
                async with asyncio.timeout(SNAPSHOT_EVERY_S):
                    await self._what.changed.wait()
            self._what.changed.clear()
            await self._save_changed()
            await asyncio.sleep(PAUSE_S)

    async def _save_changed(self) -> None:
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
        snapshot = StreamSnapshot(query=self._query, stream=stream, at=datetime.now(UTC), nodes=nodes)
        return Outgoing(self._what.topic, self._key(stream), msgspec.json.encode(snapshot), snapshot.at.timestamp())

    def _key(self, stream: str) -> bytes:
        """Return the message key, which names the query too: several queries may analyse a stream."""
        return f"{self._query}/{stream}".encode()

    async def _read(self) -> BoundedStore:
        try:
            return await retrying(self._read_unless_useless, (KafkaError, OSError), self._persistence, self._log_retry)
        except (KafkaError, OSError) as error:
            log.warning("topic %s cannot be read (%s): streams begin anew", self._what.topic, error)
            return _nothing()

    def _log_retry(self, error: Exception, remaining_s: float) -> None:
        log.warning("cannot read topic %s (%s): trying again", self._what.topic, error)

    async def _read_unless_useless(self) -> BoundedStore:
        try:
            return await self._read_once()
        except (*HOPELESS, UnknownTopicOrPartitionError) as error:
            self._give_up(error)
            return _nothing()

    async def _read_once(self) -> BoundedStore:
        topic, found = self._what.topic, _nothing()
        if topic not in await topics_at(self._settings):
            raise UnknownTopicOrPartitionError(f"no topic {topic}: make it with `sluice topics create`")
        prefix = self._key("")
        async for record in records(self._settings, topic, "the state of streams"):
            if record.key and record.key.startswith(prefix):
                found.put(record.key[len(prefix) :].decode(errors="replace"), record.value or b"")
        if found:
            log.info("topic %s: the state of %d streams is known", topic, len(found))
        if found.left_out:
            log.warning(
                "topic %s: %d snapshots are not kept, and their streams begin anew: one may have %d MiB, all together "
                "%d MiB",
                *(topic, found.left_out, MAX_SNAPSHOT_BYTES >> 20, MAX_BYTES >> 20),
            )
        return found

    def _give_up(self, error: Exception) -> None:
        self._useless = True
        log.warning("what is learnt of streams will not survive this worker: %s", error)


def _nothing() -> BoundedStore:
    return BoundedStore(MAX_SNAPSHOT_BYTES, MAX_BYTES)


class BoundedStore:
    """Drops an item that is too large, and the oldest items where all together are too large."""

    def __init__(self, max_item_bytes: int, max_bytes: int, overhead_bytes: int = 200) -> None:
        """``overhead_bytes``: what an item takes beside its key and value."""
        self._max_item_bytes, self._max_bytes, self._overhead_bytes = max_item_bytes, max_bytes, overhead_bytes
        self._items: OrderedDict[str, bytes] = OrderedDict()
        self.size_bytes = 0
        self.left_out = 0
        """Number of items that were dropped."""

    def __len__(self) -> int:
        return len(self._items)

    def put(self, key: str, value: bytes) -> None:
        """Keep a value in place of the key's former one."""
        self.pop(key)
        size_bytes = self._size(key, value)
        if size_bytes > min(self._max_item_bytes, self._max_bytes):
            self.left_out += 1
            return
        while self.size_bytes + size_bytes > self._max_bytes:
            oldest, gone = self._items.popitem(last=False)
            self.size_bytes -= self._size(oldest, gone)
            self.left_out += 1
        self._items[key] = value
        self.size_bytes += size_bytes

    def pop(self, key: str) -> bytes | None:
        value = self._items.pop(key, None)
        if value is not None:
            self.size_bytes -= self._size(key, value)
        return value

    def _size(self, key: str, value: bytes) -> int:
        return len(key) + len(value) + self._overhead_bytes
