"""The audits of objects without a track: one look against one look, at the same picture."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.background import PendingLook
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.bench import Bench, Turns, is_in_shadow
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.shadow import Question
from operators.recognise.shortcuts.shortcut import AuditOutcome, Evidence, Shortcut, Turn
from operators.wire.adaptation import Finding
from operators.wire.schema import Attribute
from serving.common.tensors import Image

ALWAYS = 0.0
"""The coin for an answer that is compared in any case."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnAnswer:
    """An answer that was drawn."""

    stream: NodeStream
    link: Shortcut
    ticket: Ticket
    token: object
    said: Attribute
    crop: Image
    """A copy where the oracle has yet to look: a view would keep the whole frame in memory."""
    in_shadow: bool = False
    reserved_s: float = 0.0
    """Seconds set aside for the look."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """A region that the oracle has answered for, and a shortcut in the shadow is shown."""

    stream: NodeStream
    link: Shortcut
    frame: Frame
    region: Region
    by_oracle: Attribute


class LookAudits:
    """Draws looks; the other network looks once the frame's result has been sent."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def account(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], turns: Turns, call: Call) -> None:
        """Count who looked at the regions, and draw some."""
        said = [region for region in regions if region.attributes[-1].provenance == "oracle"]
        for link, turn in turns:
            audit, room = stream.audits.of(link.key), self._bench.can_audit()
            audit.by_oracle(len(regions) - len(turn.answered))
            if turn.own is not None:
                self._compare_all(stream, frame, link, turn, turn.own)
            else:
                tickets = [audit.by_shortcut(self._coin(frame, link, region), room) for region in turn.answered]
                drawn = [(each, ticket) for each, ticket in zip(turn.answered, tickets, strict=True) if ticket]
                if drawn:
                    self._draw(stream, frame, link, turn.token, drawn)
            if link.within is not None:
                self._draw_heard(stream, frame, link, turn)
            else:
                for heard in turn.overheard:
                    if (by_oracle := heard.region.attributes[-1]).provenance == "oracle":
                        shown = _Shown(stream, link, frame, heard.region, by_oracle)
                        self._said_in_shadow(shown, heard.said, heard.token)
            if said and not link.listens and is_in_shadow(stream, link, call):
                self._show(stream, frame, link, said, call)

    def _show(self, stream: NodeStream, frame: Frame, link: Shortcut, said: Sequence[Region], call: Call) -> None:
        """Have a shortcut look at regions that the oracle has answered for, if that can be paid."""
        if self._bench.can_shadow(frame, link):
            shown = [_Shown(stream, link, frame, each, each.attributes[-1]) for each in said]
            asked = [Question(each.region, partial(self._said_in_shadow, each)) for each in shown]
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
            frame.header.id,
            [
                self._look(_DrawnAnswer(stream, link, ticket, token, region.attributes[-1], crop.copy()))
                for (region, ticket), crop in zip(drawn, crops, strict=True)
            ],
        )

    def _compare_all(
        self, stream: NodeStream, frame: Frame, link: Shortcut, turn: Turn, own: asyncio.Future[Sequence[Attribute]]
    ) -> None:
        """Compare every answer with what the oracle itself says, once it has: no coin is tossed, nothing is paid."""
        audit = stream.audits.of(link.key)
        crops = self._bench.oracle.crops(frame, turn.answered)
        drawn = [
            _DrawnAnswer(stream, link, ticket, turn.token, region.attributes[-1], crop.copy())
            if (ticket := audit.by_shortcut(ALWAYS)) is not None
            else None
            for region, crop in zip(turn.answered, crops, strict=True)
        ]
        own.add_done_callback(partial(self._ran_on, drawn))

    def _ran_on(self, drawn: Sequence[_DrawnAnswer | None], own: asyncio.Future[Sequence[Attribute]]) -> None:
        """The oracle's run has ended, or failed: then the answers are not compared."""
        looks = None if own.cancelled() or own.exception() is not None else own.result()
        for place, each in enumerate(drawn):
            if each is not None and looks is not None:
                self._tell(each, looks[place])
            elif each is not None:
                self._give_up(each)

    def _draw_heard(self, stream: NodeStream, frame: Frame, link: Shortcut, turn: Turn) -> None:
        """Have the oracle look at what a shortcut has said unseen, within another one's network."""
        looks: list[PendingLook[Image, Attribute]] = []
        for heard in turn.overheard:
            if heard.said is None or (reserved_s := self._bench.reserve()) is None:
                continue
            ticket = stream.audits.of(link.key).in_shadow()
            if ticket is None:
                self._bench.gave_up(reserved_s)
                continue
            crop = self._bench.oracle.crops(frame, [heard.region])[0].copy()
            looks.append(
                self._look(_DrawnAnswer(stream, link, ticket, heard.token, heard.said, crop, True, reserved_s))
            )
        self._bench.backlog.hold(frame.header.id, looks)

    def _look(self, drawn: _DrawnAnswer) -> PendingLook[Image, Attribute]:
        return PendingLook(drawn.crop, partial(self._again, drawn), partial(self._give_up, drawn))

    def _give_up(self, drawn: _DrawnAnswer) -> None:
        drawn.stream.audits.of(drawn.link.key).give_up()
        self._bench.gave_up(drawn.reserved_s)

    def _said_in_shadow(self, shown: _Shown, said: Attribute | None, token: object) -> None:
        """In the shadow: the shortcut has answered, unseen; what it passes on is no evidence."""
        stream, link = shown.stream, shown.link
        ticket = stream.audits.of(link.key).in_shadow() if said is not None else None
        if ticket is not None and said is not None:
            crop = self._bench.oracle.crops(shown.frame, [shown.region])[0]
            self._tell(_DrawnAnswer(stream, link, ticket, token, said, crop, in_shadow=True), shown.by_oracle)

    def _again(self, drawn: _DrawnAnswer, by_oracle: Attribute) -> None:
        self._bench.looked_again(drawn.stream, drawn.reserved_s)
        self._tell(drawn, by_oracle)

    def _tell(self, drawn: _DrawnAnswer, by_oracle: Attribute) -> None:
        """Compare the words that would be published."""
        oracle, said = self._bench.oracle.accepted(by_oracle), self._bench.oracle.accepted(drawn.said)
        agrees, link = oracle.label == said.label, drawn.link
        evidence = None if agrees else Evidence(_finding(said), _finding(oracle), drawn.crop, drawn.in_shadow)
        crop = None if drawn.in_shadow else drawn.crop
        said_of = agrees, oracle.label, crop, drawn.token
        outcome = AuditOutcome(drawn.stream.name, link.kind, *said_of, link.key, evidence)
        self._bench.tell(drawn.stream, drawn.ticket, outcome)

    def _coin(self, frame: Frame, link: Shortcut, region: Region) -> float:
        return coin(self._bench.node, link.key, frame.stream, frame.run, frame.seq, region.id)


def _finding(said: Attribute) -> Finding:
    return Finding(label=said.label, confidence=said.confidence)
