"""The audits of one node: draws answers of every kind of shortcut alike and has the oracle answer them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.background import Backlog, PendingLook
from operators.frames.frame import Frame, Region
from operators.recognise.shortcuts.node_stream import NodeStream
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import Outcome, Turn
from operators.wire.schema import ShortcutKind
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """An answer that was drawn for an audit."""

    stream: NodeStream
    kind: ShortcutKind
    token: object
    ticket: Ticket
    said: str
    crop: Image
    """A copy: a view would keep the whole frame in memory."""


class Auditor:
    """Decides which answers the oracle checks, and reports the outcomes."""

    def __init__(self, node: str, oracle: Oracle, on_outcome: Callable[[NodeStream, Outcome], None]) -> None:
        """``on_outcome``: called with every outcome, and with the stream as it was when the answer was given."""
        self._node, self._oracle, self._on_outcome = node, oracle, on_outcome
        self._backlog: Backlog[str] = Backlog(oracle.look, "the oracle cannot audit")

    def account(self, stream: NodeStream, frame: Frame, kind: ShortcutKind, turn: Turn) -> None:
        """Count the answers of a frame, and draw some of the shortcut's for an audit."""
        audit, room = stream.audits.of(kind), self._backlog.has_room
        tickets = [audit.by_shortcut(self._coin(kind, frame, region), room) for region in turn.answered]
        audit.by_oracle(len(turn.rest))
        drawn = [(region, ticket) for region, ticket in zip(turn.answered, tickets, strict=True) if ticket]
        if not drawn:
            return
        crops = self._oracle.crops(frame, [region for region, _ in drawn])
        self._backlog.hold(
            stream.name,
            [
                self._look(_Question(stream, kind, turn.token, ticket, region.attributes[-1].label, crop.copy()))
                for (region, ticket), crop in zip(drawn, crops, strict=True)
            ],
        )

    def discard(self, stream: str) -> None:
        """Note that the stream's latest frame was dropped or failed: its answers are not audited."""
        self._backlog.discard(stream)

    def result_sent(self, stream: str) -> None:
        """Note that the result of the stream's latest frame was sent: its audits may begin."""
        self._backlog.result_sent(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting audits within the time, and give up the rest."""
        await self._backlog.close(within_s)

    def _coin(self, kind: ShortcutKind, frame: Frame, region: Region) -> float:
        return coin(self._node, kind, frame.stream, frame.run, frame.seq, region.id)

    def _look(self, question: _Question) -> PendingLook[str]:
        audit = question.stream.audits.of(question.kind)
        return PendingLook(question.crop, partial(self._seen, question), partial(audit.give_up, 1))

    def _seen(self, question: _Question, label: str) -> None:
        stream, kind, agrees = question.stream, question.kind, label == question.said
        audit = stream.audits.of(kind)
        audit.tell(question.ticket, agrees)
        found = Outcome(stream.name, kind, agrees, label, question.crop, question.token, audit.uses_shortcut)
        self._on_outcome(stream, found)
