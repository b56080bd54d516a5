"""A link that is made once that can be paid: until then nothing of it is imported, read or opened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from learning.purse import Expense, Purse
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.account.books import Books
from operators.recognise.account.outlook import waiting
from operators.recognise.shortcuts.shortcut import Shortcut, Standing, Turn
from operators.recognise.shortcuts.specialization_report import specialization
from operators.wire.schema import NodePlan, ShortcutKind
from serving.common.threads import ThreadTime, in_thread
from serving.errors import SluiceError
from specialization.timeline import Timeline

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Making:
    """How a link is made."""

    kind: ShortcutKind
    follows_content: bool
    what: str
    """The thing that is made, in the plural, as sentences name it."""
    load: Callable[[], Callable[[], Shortcut]]
    """Imports and reads what the link needs, in a thread; returns what makes it, on the event loop."""
    cost_s: float
    """Processor seconds that this takes, about."""
    next_s: float
    """Processor seconds of what comes next: as long as that cannot be paid too, nothing comes of the link."""
    expense: Expense
    why_not: Callable[[], str | None] = lambda: None
    """Why the link could not save anything, as far as is known; None: it might."""

    def can_be_paid(self, purse: Purse) -> bool:
        """Whether there is money for the link and for what comes next."""
        return purse.may_spend(self.cost_s + self.next_s)


class Postponed(Shortcut):
    """Answers nothing, and has the link made that takes its place in the chain."""

    def __init__(self, where: str, making: Making, books: Books, instead: Callable[[Shortcut], None]) -> None:
        """``where``: for log lines; ``instead``: puts the link in the place of this one."""
        self.kind, self.follows_content = making.kind, making.follows_content
        self.models: Sequence[str] = ()
        self._where, self._making, self._books, self._instead = where, making, books, instead
        self._work: asyncio.Task[None] | None = None
        self._failed: str | None = None
        self._told: str | None = None

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        return Turn((), regions)

    def edition(self, stream: str) -> int | None:
        """Nothing would answer now."""
        return None

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Have the link made where that may pay and can be paid."""
        if self._work is not None or self._failed is not None:
            return
        if (why := self._making.why_not()) is not None:
            self._tell(why)
        elif self._books.oracle_s > 0 and self._making.can_be_paid(self._books.purse):
            self._books.purse.reserve(self._making.cost_s)
            took = ThreadTime()
            self._work = asyncio.create_task(self._make(took))
            self._work.add_done_callback(lambda _: self._pay(took))

    def why_silent(self) -> str | None:
        making, purse = self._making, self._books.purse
        why = self._failed or making.why_not()
        if why is None and not making.can_be_paid(purse):
            why = waiting(purse.left_s, making.cost_s + making.next_s, "getting ready to make them")
        return f"{making.what} are not used yet: {why or 'nothing was worth a look so far'}"

    def standing(self, stream: str) -> Standing | None:
        if not self.follows_content:
            return None
        return Standing("initialising", 0, seconds=self._books.of(stream).seconds, reason=self.why_silent())

    def describe(self, plan: NodePlan, timeline: Timeline, standing: Standing) -> NodePlan:
        return msgspec.structs.replace(plan, specialization=specialization(timeline, standing))

    def restore(self, stream: str, data: bytes) -> None:
        """Make the link at once: what another worker has saved of it may answer from the first frame on."""
        if self._work is not None:
            self._work.cancel()
        link = self._making.load()()
        self._instead(link)
        link.restore(stream, data)

    async def close(self) -> None:
        """Give up what is being made."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])

    async def _make(self, took: ThreadTime) -> None:
        try:
            make = await in_thread(took.of(self._making.load))
            link = took.of(make)()
            await link.prepare()
            self._instead(link)
        except SluiceError as error:
            self._failed = str(error)
            self._tell(self._failed)

    def _pay(self, took: ThreadTime) -> None:
        self._books.purse.pay(self._making.expense, self._making.cost_s, took.seconds)

    def _tell(self, why: str) -> None:
        if self._told is None:
            log.info("%s: %s are not used: %s", self._where, self._making.what, why)
        self._told = why
