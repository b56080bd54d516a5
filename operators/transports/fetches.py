"""Stands between a client library and its broker, and removes from fetched data what the library cannot read."""

from __future__ import annotations

from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer
from aiokafka.protocol.fetch import FetchRequest

from operators.transports.record_sets import readable
from operators.transports.unreadable_log import OnUnreadable


class Watcher(Protocol):
    """Is called with the outcome of every fetch, in the thread that fetches."""

    @property
    def unreadable(self) -> OnUnreadable:
        """Take note of records that could not be read."""
        ...

    def fetched(self, topic: str, partition: int, offset: int, error_code: int, end: int) -> None:
        """A partition's part of an answer; ``offset`` was asked for, ``end`` is the partition's."""
        ...


def watch_fetches(consumer: AIOKafkaConsumer, watcher: Watcher) -> None:
    """Mend what a consumer of aiokafka is answered from now on; to be called before it is started."""
    client = consumer._client
    send = client.send

    async def send_and_mend(node_id: Any, request: Any, **options: Any) -> Any:
        response = await send(node_id, request, **options)
        if isinstance(request, FetchRequest):
            asked = {(topic, number): offset for topic, parts in request.topics for number, offset, _ in parts}
            response.topics = [
                (topic, [_mended(part, asked, topic, watcher) for part in parts]) for topic, parts in response.topics
            ]
        return response

    client.send = send_and_mend


def _mended(part: Any, asked: dict[tuple[str, int], int], topic: str, watcher: Watcher) -> Any:
    """One partition of an answer: its number, an error, its end, and last its records."""
    number, error_code, end, *between, data = part
    offset = asked[topic, number]
    watcher.fetched(topic, number, offset, error_code, end)
    if data:
        data, bad = readable(bytes(data), offset, end)
        for what in bad:
            watcher.unreadable(topic, number, what)
    return (number, error_code, end, *between, data)
