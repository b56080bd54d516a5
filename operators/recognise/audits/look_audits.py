"""The audits of objects without a track: one look against one look, at the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.background import PendingLook
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.bench import Bench, Turns, is_in_shadow
from operators.recognise.audits.shadow import Question
from operators.recognise.shortcuts.node_stream import NodeStream
from operators.recognise.shortcuts.shortcut import Outcome, Shortcut
from operators.wire.schema import Attribute
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """An answer that was drawn."""

    stream: NodeStream
    link: Shortcut
    ticket: Ticket
    token: object
    said: Attribute
    crop: Image
    """A copy: a view would keep the whole frame in memory."""


class LookAudits:
    """Draws looks; the other party looks once the frame's result has been sent."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def account(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], turns: Turns, call: Call) -> None:
        """Count who looked at the regions, and draw some."""
        said = [region for region in regions if region.attributes[-1].provenance == "oracle"]
        for link, turn in turns:
            audit, room = stream.audits.of(link.key), self._bench.can_audit()
            audit.by_oracle(len(regions) - len(turn.answered))
            tickets = [audit.by_shortcut(self._coin(frame, link, region), room) for region in turn.answered]
            drawn = [(each, ticket) for each, ticket in zip(turn.answered, tickets, strict=True) if ticket]
            if drawn:
                self._draw(stream, frame, link, turn.token, drawn)
            if said and is_in_shadow(stream, link, call) and self._bench.can_shadow(frame, link):
                asked = [Question(each, partial(self._beside, stream, link, each.attributes[-1])) for each in said]
                self._bench.shadow.hold(link, frame, asked, call)

    def _draw(
        self,
        stream: NodeStream,
        frame: Frame,
        link: Shortcut,
        token: object,
        drawn: Sequence[tuple[Region, Ticket]],
    ) -> None:
        crops = self._bench.oracle.crops(frame, [region for region, _ in drawn])
        self._bench.backlog.hold(
            stream.name,
            [
                self._look(_Drawn(stream, link, ticket, token, region.attributes[-1], crop.copy()))
                for (region, ticket), crop in zip(drawn, crops, strict=True)
            ],
        )

    def _look(self, drawn: _Drawn) -> PendingLook[Attribute]:
        audit = drawn.stream.audits.of(drawn.link.key)
        return PendingLook(drawn.crop, partial(self._again, drawn), partial(audit.give_up, 1))

    def _beside(
        self, stream: NodeStream, link: Shortcut, by_oracle: Attribute, said: Attribute | None, token: object
    ) -> None:
        """In the shadow: the shortcut has answered, unseen; what it passes on is no evidence."""
        ticket = stream.audits.of(link.key).in_shadow() if said is not None else None
        if ticket is not None and said is not None:
            self._tell(stream, link, ticket, by_oracle, said, None, token)

    def _again(self, drawn: _Drawn, by_oracle: Attribute) -> None:
        """In service: the oracle has looked again."""
        self._bench.looked_again(drawn.stream)
        self._tell(drawn.stream, drawn.link, drawn.ticket, by_oracle, drawn.said, drawn.crop, drawn.token)

    def _tell(
        self,
        stream: NodeStream,
        link: Shortcut,
        ticket: Ticket,
        by_oracle: Attribute,
        said: Attribute,
        crop: Image | None,
        token: object,
    ) -> None:
        """Compare the words that would be published."""
        word, accepted = self._bench.oracle.accepted(by_oracle).label, self._bench.oracle.accepted(said)
        agrees = word == accepted.label
        self._bench.tell(stream, ticket, Outcome(stream.name, link.kind, agrees, word, crop, token, link.key))

    def _coin(self, frame: Frame, link: Shortcut, region: Region) -> float:
        return coin(self._bench.node, link.key, frame.stream, frame.run, frame.seq, region.id)
