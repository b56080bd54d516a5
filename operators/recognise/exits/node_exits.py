"""The looks of a node through its cut oracle: who may leave, what is heard on the way, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from operators.audits.streams import DECLINED
from operators.base import Call
from operators.frames.frame import Frame, Region, without_picture
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.trial import AuditedLook
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

    @property
    def asked(self) -> set[str]:
        """The keys of the exits that are heard."""
        return {kind.key for kind, _ in (*self.shadows, *([self.acting] if self.acting else []))}


@dataclass(frozen=True)
class ExitLooks:
    """Looks of one frame, as far as they have come."""

    stream: NodeStream
    frame: Frame
    regions: Sequence[Region]
    plan: LookPlan
    result: ExitResult
    crops: Sequence[Image | None]
    """Pictures for the oracle, where the frame's is not kept."""
    said: Sequence[Attribute | None]
    """The answers of the exits in service; None where none is sure."""
    ends: Sequence[Attribute | None]
    """Those of the network's end; None where it was not asked."""

    def at(self, rows: NDArray[np.intp]) -> ExitLooks:
        """Some of them."""
        lists = (self.regions, self.crops, self.said, self.ends)
        regions, crops, said, ends = ([each[row] for row in rows.tolist()] for each in lists)
        plan = replace(self.plan, drawn=self.plan.drawn[rows])
        return ExitLooks(self.stream, self.frame, regions, plan, self.result.at(rows), crops, said, ends)

    def give(self) -> None:
        """Append a look to every region: the exit's, where one was sure; so what is audited is published."""
        for region, end, said in zip(self.regions, self.ends, self.said, strict=True):
            answer = said or end
            assert answer is not None
            region.attributes.append(answer)

    def audited(self, number: int, said: Sequence[Attribute | None] | None = None) -> list[AuditedLook]:
        """Answers of exits with this number beside the end's; ``said``: None: those in service."""
        rows = zip(self.regions, self.said if said is None else said, self.ends, self.crops, strict=True)
        return [AuditedLook(self.frame, region, one, end, number, crop) for region, one, end, crop in rows]


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
        result = await self.ran(frame, regions, call, plan.policy)
        if result is None:
            return None
        rows = np.flatnonzero(~result.left)
        looks = await self.with_ends(self.looks(stream, frame, regions, plan, result), rows, result.scores[rows])
        looks.give()
        self.heard(looks)
        return NotLooked()

    async def ran(self, frame: Frame, regions: Sequence[Region], call: Call, policy: RowPolicy) -> ExitResult | None:
        """Run looks through the network that is cut; None where it fails."""
        try:
            return await self.cut.run(self._recogniser.crops(self.cut.network, frame, regions), policy, call.urgency)
        except (TooLate, BudgetSpent):
            raise
        except SluiceError as error:
            self.cut.failed(error)
            return None

    def looks(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], plan: LookPlan, result: ExitResult
    ) -> ExitLooks:
        """Looks as the exits have answered them."""
        nobody: list[None] = [None] * len(regions)
        said = nobody if plan.acting is None else self._said(plan.acting, result.place, result.distribution)
        return ExitLooks(stream, frame, regions, plan, result, nobody, said, nobody)

    async def with_ends(self, looks: ExitLooks, rows: NDArray[np.intp], scores: Array) -> ExitLooks:
        """The same with what the end says of some of them, by its scores of these."""
        if not len(rows):
            return looks
        ends, whole = list(looks.ends), np.zeros((len(looks.ends), *scores.shape[1:]), scores.dtype)
        whole[rows] = scores
        found = await self._recogniser.named(self.cut.oracle, self.cut.oracle, scores)
        for row, look in zip(rows.tolist(), found, strict=True):
            ends[row] = look
        return replace(looks, result=replace(looks.result, scores=whole), ends=ends)

    def heard(self, looks: ExitLooks, audits: bool = True) -> None:
        """Take looks, whose answers are out: for audits, as samples, and to tune exits; what that takes is paid.

        ``audits``: whether those of the exits in service are still to come.
        """
        began_s = time.thread_time()
        stream, acting = looks.stream, looks.plan.acting
        ended = np.flatnonzero([each is not None for each in looks.ends])
        for kind in self.kinds:
            if acting is None or kind is not acting[0]:
                kind.of(stream.name).account.by_oracle(len(ended), self.cut.whole_s)
        if acting is not None:
            kind, used = acting
            left = len(looks.regions) - len(ended)
            self._account(stream, kind, left, len(ended))
            for shadow, _ in looks.plan.shadows:
                self._auditor.unheard(stream, shadow.key, left)
            if audits:
                self._auditor.looked(stream, kind.key, looks.audited(used.number), looks.plan.room)
        if len(ended):
            self._ran_on(looks.at(ended))
        self.cut.budget.spend("samples", time.thread_time() - began_s)

    @property
    def may_ask(self) -> bool:
        """Whether an oracle elsewhere may be asked for more looks, later."""
        return self._auditor.has_room

    def ask(self, looks: ExitLooks) -> None:
        """Have the oracle, which is elsewhere, make looks too, later, that exits in service have answered."""
        assert looks.plan.acting is not None
        kind, used = looks.plan.acting
        for row, look in enumerate(looks.audited(used.number)):
            mine = looks.at(np.array([row]))
            mine = replace(mine, frame=without_picture(looks.frame))
            self._auditor.asks_oracle(looks.stream, kind.key, look, partial(self._answered, mine))

    def _answered(self, looks: ExitLooks, look: AuditedLook, output: Array) -> None:
        """Take what the oracle says, elsewhere, of a look that exits have answered."""
        if not looks.stream.gone:
            result = replace(looks.result, scores=output)
            self.heard(replace(looks, result=result, crops=[look.crop], ends=[look.reference]), audits=False)

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

    def go_on(self, stream: str) -> bool:
        """Do what is due for a stream; whether other exits are in use there now."""
        if not self.cut.is_open:  # nothing is due, and what exits are made of is not even imported
            return False
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

    def _ran_on(self, ended: ExitLooks) -> None:
        stream, plan, taps = ended.stream, ended.plan, ended.result.taps
        for kind, used in plan.shadows:
            found = used.answers(taps, self.cut.cuts)
            said = self._said((kind, used), found.place, found.distribution)
            self._auditor.looked(stream, kind.key, ended.audited(used.number, said))
        wanting = [mine for kind in self.kinds if (mine := kind.of(stream.name)).wants_taps]
        if not wanting:
            return
        waiting = self._waiting.setdefault(stream.name, [])
        waiting.append(self._tapped(ended))
        if sum(len(rows) for rows, _ in waiting) >= TOGETHER:
            looks, whole = zip(*self._waiting.pop(stream.name), strict=True)
            for mine in wanting:
                mine.took(looks[0].joined(looks), np.concatenate(whole))

    def _tapped(self, ended: ExitLooks) -> tuple[ExitRows, NDArray[np.bool_]]:
        """As a sample, a look that exits would have answered is there for all that were not drawn.

        Where the end says what is no number, there is nothing to learn.
        """
        from cache_adapt.learned.rows import FOLDS, ExitRows  # with what exits are made of: not before they are wanted

        result, acting = ended.result, ended.plan.acting
        weights = np.ones(len(ended.regions), np.float32)
        if acting is not None:
            weights[result.place < len(self.cut.places)] = 1 / ended.stream.audits.of(acting[0].key).rate
        words, scores = [self._recogniser.word_of(look) for look in ended.ends if look is not None], result.scores
        scores[faulty := no_numbers(scores)] = 0
        shares = self._recogniser.shares(self.cut.oracle, scores)
        folds = self._auditor.parts(ended.frame, ended.regions, FOLDS)
        shown = self._auditor.shown(ended.frame, ended.regions)
        rows = ExitRows(result.taps, shares, np.array(words, np.intp), weights, folds, shown)
        return rows.of(~faulty), ended.plan.drawn[~faulty]
