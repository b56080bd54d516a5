"""Has shortcuts answer unseen, for objects of frames whose results have been sent, while nothing else waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from operators.background import UntilPublished
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.account.books import Books
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.wire.schema import Attribute, FrameId
from serving.errors import SluiceError
from serving.scheduling.requests import BACKGROUND

log = logging.getLogger(__name__)

MOST_FRAMES = 16
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Question:
    """One object that a shortcut is asked about."""

    region: Region
    on_answer: Callable[[Attribute | None, object], None]
    """Called with what the shortcut says, None for nothing, and with its token."""


@dataclass(frozen=True, slots=True, eq=False)
class _ShadowTurn:
    """The questions to one shortcut about one frame."""

    link: Shortcut
    frame: Frame
    questions: Sequence[Question]
    call: Call


class Shadow:
    """Bounded by the frames that are kept for it, since shortcuts are asked about frames as they came."""

    def __init__(self, books: Books) -> None:
        """``books``: where it is noted what looks take."""
        self._books = books
        self._look_s: dict[str, float] = {}
        self._held = UntilPublished[_ShadowTurn]()
        self._tasks: set[asyncio.Task[None]] = set()
        self._frames = self._bytes = 0
        self._complained = False

    def has_room(self, frame: Frame) -> bool:
        """Whether this frame may be kept too."""
        return self._frames < MOST_FRAMES and self._bytes + _size(frame) <= MOST_BYTES

    def look_s(self, link: Shortcut) -> float:
        """Processor seconds of one look of a shortcut, as far as known."""
        return self._look_s.get(link.key, 0.0)

    def hold(self, link: Shortcut, frame: Frame, questions: Sequence[Question], call: Call) -> None:
        """Ask about objects of a frame once its result is ``published``."""
        asked = _ShadowTurn(link, frame, questions, replace(call, urgency=BACKGROUND))
        self._held.keep(frame.header.id, [asked])
        self._frames += 1
        self._bytes += _size(frame)

    def dropped(self, frame: FrameId) -> None:
        """Drop the questions about a frame that was dropped or failed."""
        for asked in self._held.dropped(frame):
            self._let_go(asked, {})

    def forget(self, stream: str) -> None:
        """Drop the questions about frames of a stream that have no result yet."""
        for asked in self._held.forgotten(stream):
            self._let_go(asked, {})

    def published(self, frame: FrameId) -> None:
        """Ask about a frame."""
        for asked in self._held.published(frame):
            task = asyncio.create_task(self._ask(asked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self, within_s: float) -> None:
        """Wait for answers within the time; give up the rest."""
        for asked in self._held.forgotten():
            self._let_go(asked, {})
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=within_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _ask(self, asked: _ShadowTurn) -> None:
        said: dict[int, tuple[Attribute, object]] = {}
        copies = [replace(question.region, attributes=[]) for question in asked.questions]
        try:
            turn = await asked.link.answer(asked.frame, copies, asked.call)
            self._pay(asked, turn)
            said = {id(region): (region.attributes[-1], turn.token) for region in turn.answered}
        except SluiceError as error:
            self._complain(error)
        finally:
            answers = {place: said[id(copy)] for place, copy in enumerate(copies) if id(copy) in said}
            self._let_go(asked, answers)

    def _pay(self, asked: _ShadowTurn, turn: Turn) -> None:
        seconds = asked.link.cost_s(turn)
        self._look_s[asked.link.key] = seconds / len(asked.questions)
        self._books.of(asked.frame.stream).spend("shadow", seconds)

    def _let_go(self, asked: _ShadowTurn, answers: dict[int, tuple[Attribute, object]]) -> None:
        self._frames -= 1
        self._bytes -= _size(asked.frame)
        for place, question in enumerate(asked.questions):
            question.on_answer(*answers.get(place, (None, None)))

    def _complain(self, error: SluiceError) -> None:
        """Log the first failure only, since the next ones are alike."""
        if not self._complained:
            self._complained = True
            log.warning("a shortcut cannot answer in the shadow: %s", error)


def _size(frame: Frame) -> int:
    """Bytes of its image, which crops are cut from."""
    return frame.width * frame.height * 3
