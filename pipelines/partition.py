"""One partition of the frames topic in a worker: analysed in a bounded window, published, acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from operators.schema import Event, FrameHeader, Result, to_json
from operators.transports.window import OrderedWindow
from pipelines.intake import Analyser, Answer, Message, answer, without_objects, without_value
from pipelines.memory import Memory, NoMemory
from pipelines.publisher import Outgoing, Publisher
from pipelines.resume import Resume

WINDOW = 32
"""Frames of one partition handed to the analyser at once. Their images are not decoded before their turn comes."""
HOLD_AT = 32
"""Frames waiting for the window at which the partition is no longer fetched from."""


class Derive(Protocol):
    """Makes events of results; keeps state by stream."""

    def __call__(self, result: Result) -> list[Event]:
        """The events that a result causes; called once for each, in the order of its stream."""
        ...

    def forget(self, stream: str) -> None:
        """Drop the state of a stream: its partition moved away."""
        ...


@dataclass(frozen=True)
class TopicNames:
    """The topics a worker reads and writes."""

    frames: str
    results: str
    events: str
    dlq: str


@dataclass(frozen=True)
class Work:
    """What all partitions of a worker have in common."""

    analyser: Analyser
    publisher: Publisher
    topics: TopicNames
    resume: Resume
    derive: Derive
    memory: Memory = field(default_factory=NoMemory)


@dataclass(frozen=True)
class Valve:
    """How a partition acts on the transport it is read from."""

    acknowledge: Callable[[Message], None]
    hold: Callable[[], None]
    """Fetch no more of this partition; may be called while it is held already."""
    release: Callable[[], None]


class Partition:
    """Takes messages in order; none is acknowledged before its result is stored, nor before the one ahead of it."""

    def __init__(self, work: Work, valve: Valve, streams: set[str]) -> None:
        """``streams``: those whose state is held here; what is met for the first time is added."""
        self._streams = streams
        self._work = work
        self._valve = valve
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._held = False
        self._window: OrderedWindow[Message, Answer] = OrderedWindow(WINDOW, self._finish)
        self._feeder = asyncio.create_task(self._feed())

    @property
    def tasks(self) -> tuple[asyncio.Task[None], asyncio.Task[None]]:
        """End with an exception where the partition cannot go on, and else only by ``stop``."""
        return self._feeder, self._window.finisher

    def take(self, message: Message) -> None:
        """Accept the next message, asking the transport to hold when many wait. Never blocks, so no partition waits."""
        self._waiting.put_nowait(message)
        if self._waiting.qsize() >= HOLD_AT:
            self._held = True
            self._valve.hold()

    async def stop(self, timeout_s: float) -> None:
        """Finish what is in the window, within the time; what waits is left to whoever takes the partition over."""
        self._feeder.cancel()
        try:
            async with asyncio.timeout(timeout_s):
                await self._window.drain()
        except TimeoutError:
            pass  # not acknowledged, so it comes again
        finally:
            await self._window.abandon()

    async def _feed(self) -> None:
        while True:
            message = await self._waiting.get()
            if self._held and self._waiting.qsize() <= HOLD_AT // 2:
                self._held = False
                self._valve.release()
            await self._work.resume.cover(message.timestamp_s)
            await self._work.memory.cover()
            await self._window.put(message, partial(answer, message, self._work.analyser, self._answered))

    def _answered(self, header: FrameHeader) -> bool:
        if header.stream not in self._streams:
            self._streams.add(header.stream)
            for result in self._work.resume.recent(header.stream):
                self._work.derive(result)  # told already: only the state it leaves matters
            self._work.memory.recall(header.stream)
        return self._work.resume.answered(header)

    async def _finish(self, batch: Sequence[tuple[Message, Answer]]) -> None:
        """Results last: a worker that dies in between repeats the frame, with nothing lost."""
        beside = [outgoing for message, found in batch for outgoing in self._beside(message, found)]
        if beside:
            await self._work.publisher.publish(beside)
        await self._work.publisher.publish(
            [self._result(message, found.result) for message, found in batch if found.result]
        )
        for message, _ in batch:
            self._valve.acknowledge(message)

    def _beside(self, message: Message, found: Answer) -> list[Outgoing]:
        topics, letter = self._work.topics, found.dead_letter
        events = self._work.derive(found.result) if found.result else []
        messages = [
            Outgoing(topics.events, event.stream.encode(), to_json(event), message.timestamp_s) for event in events
        ]
        if letter is not None:
            shorter = without_value(letter)
            messages.append(
                Outgoing(
                    topics.dlq,
                    message.key,
                    to_json(letter),
                    message.timestamp_s,
                    lambda: to_json(shorter),
                )
            )
        return messages

    def _result(self, message: Message, result: Result) -> Outgoing:
        """With the time of its frame, by which ``KafkaResume`` finds it."""
        value = to_json(result)
        cause = f"the result of {len(value)} bytes is too large for topic {self._work.topics.results}"
        return Outgoing(
            self._work.topics.results,
            result.stream.encode(),
            value,
            message.timestamp_s,
            lambda: to_json(without_objects(result, cause)),
        )
