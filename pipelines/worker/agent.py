"""The thin adapter between Faust and the partitions of the frames topic, which know nothing of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import faust
from faust.types import TP

from pipelines.partition.message import Message
from pipelines.partition.open_streams import OpenStreams
from pipelines.partition.partition import Partition
from pipelines.partition.publisher import Outgoing, Send
from pipelines.partition.queries import QueryWork
from pipelines.partition.shared_parts import SharedParts, Valve

HANDOVER_S = 5.0
"""How long partitions that move away are given to finish what they have in work."""
SETTLE_S = 2.0
"""How long the frames that are being analysed then, one of each stream, are given to end."""


def sender(app: faust.App) -> Send:
    """Publishes by the app's producer, without the buffers and serialisers that Faust puts before it."""

    async def send(message: Outgoing) -> Awaitable[object]:
        sent: Awaitable[object] = await app.producer.send(
            message.topic, message.key, message.value, None, message.timestamp_s, None
        )
        return sent

    return send


class FrameAgent:
    """Reads the frames topic of an app and keeps one ``Partition`` for each partition the app is assigned.

    Exceptions of an agent would acknowledge the message at hand; here the agent's body only passes events on.
    """

    def __init__(self, app: faust.App, work: SharedParts, ready: asyncio.Event) -> None:
        """``ready`` is set once the app has been assigned its partitions."""
        self.app = app
        self._ready = ready
        self._work = work
        self._partitions: dict[TP, Partition] = {}
        self._streams = OpenStreams(work.bounds, self._drop, work.queries.busy)
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """The future that gets the exception that ends the work."""
        self.joined = False
        """Whether partitions have been assigned, be it none."""
        self._topic = work.frames
        topic = app.topic(self._topic, key_serializer="raw", value_serializer="raw")
        # Not by the decorator, which searches the files of all modules for where it stands.
        agent = app.conf.Agent(self._consume, name="frames", app=app, channel=topic)
        app.agents[agent.name] = agent
        app.on_partitions_revoked.connect(self._revoked)
        app.on_partitions_assigned.connect(self._assigned)

    @property
    def storing(self) -> bool:
        """Whether the broker takes what is published."""
        return self._work.publisher.storing

    def end(self, error: Exception) -> None:
        """End the work with this error, unless another one has."""
        if not self.failed.done():
            self.failed.set_exception(error)

    async def close(self) -> None:
        """Finish and publish the frames in flight, then drop the state of all streams: others may go on with them."""
        try:
            await self._stop()
            await self._work.queries.save()
        finally:
            self._streams.keep(())

    async def leave(self, query: QueryWork) -> None:
        """Finish what a query has in work that gets no more frames."""
        await asyncio.gather(*(partition.leave(query) for partition in self._partitions.values()))

    async def _stop(self) -> None:
        partitions, self._partitions = self._partitions, {}
        await asyncio.gather(*(partition.stop(HANDOVER_S) for partition in partitions.values()))
        await self._work.queries.settled(SETTLE_S)  # operators forget no stream in the middle of its frame

    def _drop(self, stream: str) -> None:
        """Forget the state of a stream."""
        self._work.queries.forget(stream)
        self._work.missing.forget(stream)
        self._work.gates.forget(stream)

    async def _consume(self, stream: Any) -> None:
        async for event in stream.noack().events():
            partition = self._partitions.get(event.message.tp)
            if partition is not None:
                partition.take(_message(event))

    async def _revoked(self, app: faust.App, revoked: set[TP], **_: Any) -> None:
        await self._stop()
        await self._work.queries.save()  # before this returns nobody else is assigned them

    async def _assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        await self._stop()
        self._work.queries.reset()
        self._work.tally.begin_anew()
        self._work.missing.begin_anew()
        self._work.gates.begin_anew()
        self._streams.keep(assigned)
        self._partitions = {tp: self._open(tp) for tp in assigned if tp.topic == self._topic}
        self.joined = True
        self._ready.set()

    def _open(self, tp: TP) -> Partition:
        consumer = self.app.consumer
        valve = Valve(
            acknowledge=lambda message: message.receipt.ack(),  # type: ignore[attr-defined]
            hold=lambda: consumer.on_buffer_full(tp),
            release=lambda: consumer.on_buffer_drop(tp),
            fail=self.end,
        )
        return Partition(self._work, valve, lambda stream: self._streams.meet(stream, tp, time.monotonic()))


def _message(event: Any) -> Message:
    message = event.message
    return Message(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp_s=message.timestamp,
        key=message.key,
        value=message.value,
        headers=tuple(message.headers or ()),
        receipt=event,
    )
