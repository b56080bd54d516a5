"""The answers of nodes that several queries share, for one frame: each node is asked once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from operators.base import Call, NodeAnswer, Operator, ask
from operators.frames.frame import Frame, Region
from operators.wire.schema import Attribute
from pipelines.planning.planner import Start


class Sharer(Protocol):
    """A query's walk with a frame."""

    @property
    def start(self) -> Start:
        """When it must be done, and whether the frame may be dropped."""

    def has(self, operator: Operator) -> bool:
        """Whether one of its nodes is this operator."""

    def plan(self, operator: Operator) -> Call:
        """The task of this operator, as the query's planner decides."""


@dataclass(frozen=True, slots=True)
class _Noted:
    """An answer, and what else the operator has noted on the objects that it was given."""

    answer: NodeAnswer
    given: Sequence[int]
    """The objects, by their ids in the walk that has asked."""
    notes: Sequence[tuple[Sequence[Attribute], int | None, bool]]
    """On each of them: further attributes, and its track, with whether that was set."""
    took_ms: float

    @classmethod
    def of(cls, answer: NodeAnswer, before: Sequence[tuple[Region, int, int | None]], took_ms: float) -> _Noted:
        notes = [(each.attributes[count:], each.track_id, each.track_id != track) for each, count, track in before]
        found = replace(answer, regions=[_copy(each) for each in answer.regions])
        return cls(found, [each.id for each, _, _ in before], notes, took_ms)

    def onto(self, regions: Sequence[Region]) -> NodeAnswer:
        """The answer for another walk's objects, which are the same ones in the same order."""
        for region, (attributes, track, tracked) in zip(regions, self.notes, strict=True):
            region.attributes += attributes
            if tracked:
                region.track_id = track
        ids = dict(zip(self.given, (region.id for region in regions), strict=True))
        found = [_copy(each) for each in self.answer.regions]
        for region in found:
            region.parent_id = ids.get(region.parent_id, region.parent_id) if region.parent_id is not None else None
        return replace(self.answer, regions=found)


class FrameAnswers:
    """Asks operators; one that nodes of several walks have, for all of them."""

    __slots__ = ("_answers", "_calls", "_walks")

    def __init__(self) -> None:
        self._walks: list[Sharer] = []
        self._calls: dict[int, Call] = {}
        self._answers: dict[int, asyncio.Future[_Noted]] = {}

    @property
    def shares(self) -> bool:
        """Whether there are several walks; one by itself need not ask here."""
        return len(self._walks) > 1

    def close(self) -> None:
        """Let go of walks and answers once they are done: failures hold the calls that lead here, and the frame."""
        self._walks.clear()
        self._answers.clear()

    def join(self, walk: Sharer) -> None:
        """Take another walk, before any begins; those with earlier deadlines come first."""
        self._walks.append(walk)

    def call(self, operator: Operator, walk: Sharer) -> Call:
        """An operator's task for a walk; where several have it, what that with the earliest deadline plans."""
        sharers = self._sharers(operator)
        if len(sharers) < 2:
            return walk.plan(operator)
        found = self._calls.get(id(operator))
        if found is None:
            first = sharers[0].start
            droppable = all(each.start.droppable and each.start.deadline_s == first.deadline_s for each in sharers)
            found = sharers[0].plan(operator)
            found = self._calls[id(operator)] = replace(found, urgency=replace(found.urgency, droppable=droppable))
        return found

    async def ask(
        self, operator: Operator, frame: Frame, regions: Sequence[Region], call: Call
    ) -> tuple[NodeAnswer, float | None]:
        """An operator's answer; for all but the first walk that asks, with the milliseconds that it took."""
        if len(self._sharers(operator)) < 2:
            return await ask(operator, frame, regions, call), None
        key = id(operator)
        if key in self._answers:
            noted = await self._answers[key]
            return noted.onto(regions), noted.took_ms
        self._answers[key] = asyncio.get_running_loop().create_future()
        before, started_s = [(each, len(each.attributes), each.track_id) for each in regions], time.perf_counter()
        try:
            answer = await ask(operator, frame, regions, call)
            noted = _Noted.of(answer, before, 1000 * (time.perf_counter() - started_s))
        except BaseException as error:
            given_up = RuntimeError("the frame was given up")
            self._answers[key].set_exception(error if isinstance(error, Exception) else given_up)
            self._answers[key].exception()  # nobody else may ever ask
            raise
        self._answers[key].set_result(noted)
        return answer, None

    def _sharers(self, operator: Operator) -> list[Sharer]:
        return [walk for walk in self._walks if walk.has(operator)]


def _copy(region: Region) -> Region:
    return replace(region, attributes=list(region.attributes))
