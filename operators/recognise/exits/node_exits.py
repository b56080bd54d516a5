"""The looks of a node through its cut oracle: who may leave, what is heard on the way, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from operators.audits.streams import DECLINED
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.audited_look import AuditedLook
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.kinds import ExitKind
from operators.recognise.objects.late_looks import NotLooked
from operators.recognise.recogniser import Recogniser, no_numbers
from operators.wire.schema import Attribute
from serving.common.tensors import Array, Image
from serving.engines.exits import ExitResult, RowPolicy
from serving.errors import BudgetSpent, SluiceError, TooLate

if TYPE_CHECKING:
    from cache_adapt.learned.rows import ExitRows
    from operators.recognise.exits.heard_exits import ExitsInUse

TOGETHER = 16
"""Looks of a stream that are taken at once, as samples and to tune exits: one alone takes several times as long."""


@dataclass(frozen=True)
class LookPlan:
    """How the looks of one frame go through the cut oracle."""

    policy: RowPolicy
    acting: tuple[ExitKind, ExitsInUse] | None
    """The exits that answer; None: all looks run on."""
    shadows: Sequence[tuple[ExitKind, ExitsInUse]]
    """Exits that prove themselves."""
    drawn: NDArray[np.bool_]
    """Looks that run on whatever exits say, for an audit."""
    room: bool = True
    """Whether an object that is new may be drawn."""
    late: bool = False
    """Whether the answers are out before the end's are there."""

    def at(self, rows: NDArray[np.intp]) -> LookPlan:
        """For some of the looks, once they have gone through."""
        return replace(self, drawn=self.drawn[rows])


@dataclass(frozen=True)
class ExitLooks:
    """The answers to the looks of one frame."""

    said: Sequence[Attribute | None]
    """Those of the exits that answer; None where none is sure."""
    ends: Sequence[Attribute | None]
    """Those of the network's end; None where a look has left."""
    ended: NDArray[np.intp]
    """Which looks ran on."""
    result: ExitResult
    crops: Sequence[Image | None]
    """Pictures of them for the oracle, where the frame's is not kept."""


def give(regions: Sequence[Region], looks: ExitLooks) -> None:
    """Append a look to every region: the exit's, where one in service was sure; so what is audited is published."""
    for region, end, said in zip(regions, looks.ends, looks.said, strict=True):
        answer = said or end
        assert answer is not None
        region.attributes.append(answer)


class NodeExits:
    """One for a node."""

    def __init__(self, kinds: Sequence[ExitKind], cut: CutOracle, recogniser: Recogniser, auditor: Auditor) -> None:
        """``kinds``: those that are asked first come first."""
        self.kinds, self.cut, self._recogniser, self._auditor = kinds, cut, recogniser, auditor
        self._waiting: dict[str, list[tuple[ExitRows, NDArray[np.bool_]]]] = {}
        """By stream: looks that are taken together, and whether all looks at their objects run on."""

    def plan(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call) -> LookPlan | None:
        """How looks go through the cut oracle; None: the oracle runs as a whole."""
        name, cut = stream.name, self.cut
        if cut.why_not is not None:
            return None
        used = [(kind, found) for kind in self.kinds if (found := kind.of(name).in_use) is not None]
        for kind, found in used:
            stream.audits.of(kind.key).stands_for(found.number)
        wanted = [kind for kind in self.kinds if kind.of(name).wants_taps]
        if (wanted or used) and not cut.is_open:
            cut.open_where_due()
        if not cut.is_open:
            return None
        acting = next((each for each in used if self._may_answer(each[0], stream, call)), None)
        if acting is None and not self._can_run_on(bool(wanted or used), len(regions)):
            return None
        shadows = [each for each in used if stream.audits.of(each[0].key).phase == "shadow"]
        drawn, room = np.ones(len(regions), np.bool_), cut.may_audit(self._auditor.most_looks)
        if acting is not None:
            draws = partial(self._auditor.draws, stream, acting[0].key, frame, rate=None if room else 0.0)
            drawn = np.array([draws(each) for each in regions], np.bool_)
        return LookPlan(RowPolicy(None if acting is None else acting[1].exits, ~drawn), acting, shadows, drawn, room)

    async def look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call, plan: LookPlan
    ) -> NotLooked | None:
        """Append a look to every region; None where the cut oracle fails."""
        try:
            result = await self.cut.run(self.crops(frame, regions), plan.policy, call.urgency)
        except (TooLate, BudgetSpent):
            raise
        except SluiceError as error:
            self.cut.failed(error)
            return None
        answers = await self.answers(plan, result)
        give(regions, answers)
        self.heard(stream, frame, regions, plan, answers)
        return NotLooked()

    def crops(self, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        return self._recogniser.crops(self.cut.network, frame, regions)

    async def answers(self, plan: LookPlan, result: ExitResult, crops: Sequence[Image] | None = None) -> ExitLooks:
        """The answers of the exits and of the end; ``crops``: see ``ExitLooks``."""
        ends: list[Attribute | None] = [None] * len(result.place)
        ended = np.flatnonzero(~result.left)
        if len(ended):
            found = await self._recogniser.named(self.cut.oracle, self.cut.oracle, result.scores[ended])
            for row, look in zip(ended, found, strict=True):
                ends[row] = look
        return ExitLooks(self.by_exits(plan, result), ends, ended, result, crops or [None] * len(ends))

    def by_exits(self, plan: LookPlan, result: ExitResult) -> list[Attribute | None]:
        """The answers of the exits in service; None where none is sure."""
        if plan.acting is None:
            return [None] * len(result.place)
        return self._said(plan.acting, result.place, result.distribution)

    def heard(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], plan: LookPlan, looks: ExitLooks
    ) -> None:
        """Take looks, whose answers are out: for audits, as samples, and to tune exits; what that takes is paid."""
        began_s = time.thread_time()
        for kind in self.kinds:
            if plan.acting is None or kind is not plan.acting[0]:
                kind.of(stream.name).account.by_oracle(len(looks.ended), self.cut.whole_s)
        if plan.acting is not None:
            kind, used = plan.acting
            self._account(stream, kind, len(regions) - len(looks.ended), len(looks.ended))
            both = zip(regions, looks.said, looks.ends, looks.crops, strict=True)
            looked = [AuditedLook(frame, region, one, end, used.number, crop) for region, one, end, crop in both]
            self._auditor.looked(stream, kind.key, looked, late=plan.late, room=plan.room)
        if len(looks.ended):
            found = [look for look in looks.ends if look is not None]
            ended = _RanOnLooks(frame, [regions[row] for row in looks.ended], found, looks)
            self._ran_on(stream, ended, plan)
        self.cut.budget.spend("samples", time.thread_time() - began_s)

    def expects(
        self, stream: NodeStream, plan: LookPlan, frame: Frame, said: Iterable[tuple[Region, Attribute | None]]
    ) -> Callable[[], None]:
        """See ``Auditor``, for the exits that answer; there must be some. ``said``: by them, as far as it is out."""
        assert plan.acting is not None
        kind, used = plan.acting
        looks = [AuditedLook(frame, region, answer, None, used.number) for region, answer in said]
        return self._auditor.expects(stream, kind.key, looks)

    def declined(self, stream: NodeStream, call: Call) -> dict[str, str]:
        """Why exits do not answer that the decision allows."""
        found = dict[str, str]()
        for kind in self.kinds:
            phase = stream.audits.of(kind.key).phase
            if kind.of(stream.name).in_use is not None and call.decision.allows(kind.kind) and phase in DECLINED:
                found[kind.kind] = DECLINED[phase]
        return found

    def by_oracle(self, stream: NodeStream, looks: int) -> None:
        """Note looks of the whole network."""
        for kind in self.kinds:
            kind.of(stream.name).account.by_oracle(looks, self.cut.whole_s)
            self._auditor.silent(stream, kind.key, looks)

    def go_on(self, stream: str) -> bool:
        """Do what is due for a stream; whether other exits are in use there now."""
        began_s = time.thread_time()
        changed = [kind.of(stream).go_on() for kind in self.kinds]
        self.cut.budget.spend("samples", time.thread_time() - began_s)
        return any(changed)

    def forget(self, stream: str) -> None:
        """Forget a stream."""
        self._waiting.pop(stream, None)
        for kind in self.kinds:
            kind.forget(stream)

    def _said(
        self, acting: tuple[ExitKind, ExitsInUse], place: NDArray[np.int32], distribution: Array
    ) -> list[Attribute | None]:
        """The answers of exits to looks; None where none is sure."""
        kind, used = acting
        cuts = len(self.cut.places)
        return [
            None if where == cuts else self._recogniser.exit_answer(row, kind.kind, used.number, where)
            for where, row in zip(place.tolist(), distribution, strict=True)
        ]

    def _may_answer(self, kind: ExitKind, stream: NodeStream, call: Call) -> bool:
        return call.decision.allows(kind.kind) and stream.audits.of(kind.key).uses_shortcut

    def _can_run_on(self, wanted: bool, looks: int) -> bool:
        """Whether looks may go through the cuts, though none leaves: what that costs is paid."""
        cost_s = self.cut.trial_s * looks
        if not wanted or not self.cut.budget.may_spend(cost_s, gives_way=True):
            return False
        self.cut.budget.spend("samples", cost_s)
        return True

    def _account(self, stream: NodeStream, kind: ExitKind, answered: int, ended: int) -> None:
        account, whole_s = kind.of(stream.name).account, self.cut.whole_s
        if account.looked(answered, ended, whole_s, self.cut.beyond_s(answered, ended)):
            kind.of(stream.name).leave("they cost more than they save")

    def _ran_on(self, stream: NodeStream, ended: _RanOnLooks, plan: LookPlan) -> None:
        taps = [tap[ended.rows] for tap in ended.result.taps]
        for kind, used in plan.shadows:
            found = used.answers(taps, self.cut.cuts)
            said = self._said((kind, used), found.place, found.distribution)
            both = zip(ended.regions, said, ended.looks, ended.crops, strict=True)
            looked = [AuditedLook(ended.frame, region, one, end, used.number, crop) for region, one, end, crop in both]
            self._auditor.looked(stream, kind.key, looked, late=plan.late)
        told = {kind.key for kind, _ in (*plan.shadows, *([plan.acting] if plan.acting else []))}
        for kind in self.kinds:
            if kind.key not in told:
                self._auditor.silent(stream, kind.key, len(ended.rows))
        wanting = [mine for kind in self.kinds if (mine := kind.of(stream.name)).wants_taps]
        if not wanting:
            return
        waiting = self._waiting.setdefault(stream.name, [])
        waiting.append(self._tapped(stream, ended, plan, taps))
        if sum(len(rows) for rows, _ in waiting) >= TOGETHER:
            looks, whole = zip(*self._waiting.pop(stream.name), strict=True)
            for mine in wanting:
                mine.took(looks[0].joined(looks), np.concatenate(whole))

    def _tapped(
        self, stream: NodeStream, ended: _RanOnLooks, plan: LookPlan, taps: Sequence[NDArray[np.float32]]
    ) -> tuple[ExitRows, NDArray[np.bool_]]:
        """As a sample, a look that exits would have answered is there for all that were not drawn.

        Where the end says what is no number, there is nothing to learn.
        """
        from cache_adapt.learned.rows import FOLDS, ExitRows  # with what exits are made of: not before they are wanted

        weights = np.ones(len(ended.rows), np.float32)
        if plan.acting is not None:
            sure = ended.result.place[ended.rows] < len(self.cut.places)
            weights[sure] = 1 / stream.audits.of(plan.acting[0].key).rate
        words, scores = [self._recogniser.word_of(look) for look in ended.looks], ended.result.scores[ended.rows]
        scores[faulty := no_numbers(scores)] = 0
        shares = self._recogniser.shares(self.cut.oracle, scores)
        folds = self._auditor.parts(ended.frame, ended.regions, FOLDS)
        shown = self._auditor.shown(ended.frame, ended.regions)
        rows = ExitRows(taps, shares, np.array(words, np.intp), weights, folds, shown)
        return rows.of(~faulty), plan.drawn[ended.rows][~faulty]


@dataclass(frozen=True)
class _RanOnLooks:
    """The looks of a frame that ran on."""

    frame: Frame
    regions: Sequence[Region]
    looks: Sequence[Attribute]
    """The end's."""
    batch: ExitLooks
    """All looks of the frame."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """Their places in the batch."""
        return self.batch.ended

    @property
    def result(self) -> ExitResult:
        return self.batch.result

    @property
    def crops(self) -> Sequence[Image | None]:
        return [self.batch.crops[row] for row in self.rows]
