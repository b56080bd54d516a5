"""One query's frames of one partition: analysed in a bounded window, and published in their order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from operators.observer import frame_answered
from operators.wire.mishaps import Mishaps
from operators.wire.schema import DeadLetter, FrameHeader
from pipelines.partition.answer import Answer, answer, checked, failed, reason_of
from pipelines.partition.dispatch import Dispatch
from pipelines.partition.message import Message
from pipelines.partition.queries import QueryWork
from pipelines.partition.sampling import LeftOut, Thinning
from pipelines.partition.shared_parts import SharedParts
from pipelines.partition.window import OrderedWindow

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class InWork:
    message: Message
    header: FrameHeader | None = None
    """None where it cannot be read."""
    letter: DeadLetter | None = None
    """Why it cannot be."""
    waiting: int = 0
    """How many queries it waits for."""
    letters: set[str] = field(default_factory=set)
    """The topics that have a dead letter of it: one is enough, whichever query it fails in."""
    gates: dict[Thinning, bool] = field(default_factory=dict)
    """The gates that look at the frame, and whether nothing moves in it."""
    looked: asyncio.Task[None] | None = None
    """Ends when they have looked at it, or at one before it on its stream; None: there is nothing to wait for."""


class QueryWindow:
    """Answers messages in order; ``stored`` is called with each whose answer is stored."""

    def __init__(
        self, query: QueryWork, work: SharedParts, stored: Callable[[InWork], None], after: QueryWindow | None = None
    ) -> None:
        """``after``: what is published before anything of this one."""
        self._query, self._work, self._stored, self._after = query, work, stored, after
        self._mishaps = Mishaps(log)
        self._dispatch = Dispatch(query.duties.topics, query.duties.derive, self._mishaps)
        self._window: OrderedWindow[InWork, Answer] = OrderedWindow(self._finish)

    @property
    def finisher(self) -> asyncio.Task[None]:
        """Ends with an exception where the query cannot go on, and else only by ``abandon``."""
        return self._window.finisher

    def open_stream(self, stream: str) -> None:
        """Go on with the state of a stream that comes for the first time, or again after partitions moved.

        Others may have answered frames of it meanwhile: those are not missing.
        """
        query = self._query
        is_new = stream not in query.met
        query.met.add(stream)
        for result in query.resume.recent(stream):
            if stream not in query.told:
                self._dispatch.events(result)  # its events were published before: only the resulting state matters
            self._work.missing.before(result.id)
            query.sampling.before(result)
        query.told.add(stream)
        if is_new:
            query.state_store.restore(stream)

    def put(self, in_work: InWork, fault: Exception | None = None) -> None:
        """Answer a message; ``fault``: what has failed already."""
        self._window.put(in_work, partial(self._begin, in_work, fault))

    async def drain(self) -> None:
        await self._window.drain()

    async def abandon(self) -> None:
        await self._window.abandon()

    def _begin(self, in_work: InWork, fault: Exception | None) -> Coroutine[Any, Any, Answer]:
        """Analyse a message; an error costs that message alone and is not raised."""
        message, header = in_work.message, in_work.header
        try:
            if fault is not None:
                raise fault
            if header is None:
                return _now(Answer(dead_letter=in_work.letter))
            if self._query.resume.answered(header):
                return _now(Answer())
            if (why := self._query.sampling.leaves_out(header)) is not None:
                return _now(self._left_out(header, why))
            if (gate := self._query.sampling.gated(header.stream)) is not None:
                in_work.gates[gate] = False
        except Exception as error:
            return _now(self._unexpected(message, header, error))
        return self._answer(in_work, header)

    async def _answer(self, in_work: InWork, header: FrameHeader) -> Answer:
        message = in_work.message
        try:
            if await self._still(in_work, header):
                return self._left_out(header, "motion_gate")
            return checked(message, await answer(message, header, self._query.duties.analyser))
        except Exception as error:
            return self._unexpected(message, header, error)

    async def _still(self, in_work: InWork, header: FrameHeader) -> bool:
        """Whether the query's gate holds the frame back. Queries wait for each other's gates: they set out together."""
        if in_work.looked is not None:
            await in_work.looked
        own = self._query.sampling.gated(header.stream)
        return own is not None and in_work.gates.get(own, False)

    def _left_out(self, header: FrameHeader, why: LeftOut) -> Answer:
        """Nothing is published for a frame that the query does not ask for; it is counted."""
        self._work.observer.frame_left_out(header, why)
        return Answer()

    def _unexpected(self, message: Message, header: FrameHeader | None, error: Exception) -> Answer:
        self._mishaps.note("a message could not be worked on", f"{message.place}: {reason_of(error)[1]}")
        return Answer() if header is None else failed(message, header, self._query.duties.analyser, error)

    async def _finish(self, batch: Sequence[tuple[InWork, Answer]]) -> None:
        """Publish results last: a worker that dies in between repeats the frame, with nothing lost."""
        if self._after is not None:
            await self._after.drain()
            self._after = None
        told = [(in_work, self._once(in_work, found)) for in_work, found in batch]
        side_messages = [
            outgoing for each, found in told for outgoing in self._dispatch.side_messages(each.message, found)
        ]
        if side_messages:
            await self._work.publisher.publish(side_messages)
        await self._work.publisher.publish(
            [outgoing for each, found in told for outgoing in self._dispatch.result(each.message, found)]
        )
        for in_work, found in told:
            self._stored(in_work)
            self._work.tally.answered(found)
            if found.result is not None:
                frame_answered(self._work.observer, found.result)
                self._query.duties.analyser.published(found.result)

    def _once(self, in_work: InWork, found: Answer) -> Answer:
        """The answer without its dead letter where the topic has one of the message."""
        topic = self._query.duties.topics.dlq
        if found.dead_letter is None or topic in in_work.letters:
            return replace(found, dead_letter=None) if found.dead_letter else found
        in_work.letters.add(topic)
        return found


async def _now(found: Answer) -> Answer:
    return found
