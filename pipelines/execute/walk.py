"""The walk of a frame through the nodes of its query: each is planned for, asked, and what it answers is taken in."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from operators.base import Adds, Ahead, Call, NodeAnswer, Operator, ask, shared_part
from operators.decision import Decision
from operators.extensions import raised_at
from operators.frames.frame import Frame, Region
from operators.wire.mishaps import Mishaps
from operators.wire.schema import NodeDecision
from pipelines.execute.frame_answers import FrameAnswers
from pipelines.execute.lane import Dropped
from pipelines.execute.objects import Beside, plain
from pipelines.execute.overload import LATE
from pipelines.execute.stopwatch import StageStopwatch
from pipelines.execute.surroundings import ALONE, Surroundings
from pipelines.planning.node_times import Downstream
from pipelines.planning.planner import Planner, Start, Step
from pipelines.planning.stage_shares import StageShares
from pipelines.query.dag import Dag, DagNode
from pipelines.query.nodes import OwnNode
from serving.errors import SluiceError, TooLate
from serving.scheduling.requests import Urgency

log = logging.getLogger(__name__)


AFTER = 3
"""Consecutive frames of a stream that fail at a node for an unforeseen reason: it drops what it knows of the stream,
which may be what makes it fail."""


class Failures:
    """The failures of one stream's frames."""

    def __init__(self) -> None:
        self.mishaps = Mishaps(log)
        self.running = Counter[str]()
        """By node, failures running for an unforeseen reason."""


class Walked(NamedTuple):
    """The results of the nodes for a frame."""

    regions: Sequence[Region]
    """All that were found, in the order of the nodes; none where one has failed."""
    nodes: Mapping[str, NodeDecision]
    """The decision for each node with a model."""
    failure: str | None = None
    """Which node has failed, and how."""


class _NodeTurn(NamedTuple):
    """A node, and its task for a frame."""

    node: DagNode
    regions: Sequence[Region]
    call: Call

    @property
    def has_work(self) -> bool:
        return self.node.source is None or bool(self.regions)


class Progress:
    """A frame with all that it takes along, and how far it has come in one walk; a ``Sharer``."""

    def __init__(
        self, walk: Walk, frame: Frame, start: Start, ahead: Ahead | None, watch: StageStopwatch, answers: FrameAnswers
    ) -> None:
        """``answers``: those of nodes that other walks with the frame share."""
        self.frame, self.start, self.ahead, self.watch, self.answers = frame, start, ahead, watch, answers
        self._walk = walk
        self.found: list[Region] = []
        self.seen: dict[str, Sequence[Region]] = {}
        """The output of each node."""
        self.nodes: dict[str, NodeDecision] = {}
        self.items: dict[str, int] = {}
        """Numbers of objects that nodes had to look at; a node without an input looks at the frame."""

    def has(self, operator: Operator) -> bool:
        return id(operator) in self._walk.nodes

    def plan(self, operator: Operator) -> Call:
        return self._walk.plan(self._walk.nodes[id(operator)], self)

    def echo(self, node: DagNode, call: Call, answer: NodeAnswer, expected_s: Mapping[str, float]) -> None:
        """Note for the result what a node had to do, and did."""
        if (noted := decision(answer.decision or call.decision, answer, expected_s)) is not None:
            self.nodes[node.name] = noted


class Walk:
    """Leads the frames of all streams; one of each stream at a time."""

    def __init__(
        self, dag: Dag, operators: Mapping[str, Operator], planner: Planner, surroundings: Surroundings = ALONE
    ) -> None:
        self._dag, self._operators, self._planner = dag, operators, planner
        self._observer, self._clock = surroundings.observer, surroundings.clock
        self._background = surroundings.background
        self._downstream = Downstream(dag.names)
        models = {node.name: node.models[0] for node in dag.nodes if node.has_network}
        self._shares = StageShares(dag.names, models, dag.slo_ms / 1000, surroundings.curves)
        self._shared = {node.name: shared_part(operators[node.name]) for node in dag.nodes}
        self._adds = {name: each for name, each in operators.items() if isinstance(each, Adds)}
        self.nodes = {id(self._shared[node.name]): node for node in dag.nodes}
        """By the ``id()`` of their operators."""
        self._here: dict[str, Failures] = {}
        """The streams that are here."""

    def begin(
        self, frame: Frame, start: Start, ahead: Ahead | None, watch: StageStopwatch, answers: FrameAnswers
    ) -> Progress:
        """Set out with a frame, before any walk with it goes on."""
        if frame.stream not in self._here:
            self._here[frame.stream] = Failures()
        self._planner.begins(start)
        progress = Progress(self, frame, start, ahead, watch, answers)
        answers.join(progress)
        return progress

    async def through(self, progress: Progress) -> Walked:
        """Run every node; raises ``Dropped`` where one finds the frame too late."""
        for group in self._dag.groups:
            turns = [_NodeTurn(node, node.select(progress.seen), self._call(node, progress)) for node in group]
            several = len(turns) > 1 and sum(turn.has_work for turn in turns) > 1
            failure = await (self._together(turns, progress) if several else self._in_order(turns, progress))
            if failure is not None:
                return Walked((), progress.nodes, failure)
        self._downstream.observe(progress.watch.stages_ms)
        self._shares.observe(progress.items)
        return Walked(progress.found, progress.nodes)

    def forget(self, stream: str) -> None:
        self._here.pop(stream, None)
        self._planner.forget(stream)
        for name in self._operators:
            self._forget(name, stream)

    def _forget(self, name: str, stream: str) -> None:
        try:
            self._operators[name].forget(stream)
        except Exception as error:  # one of the user's
            log.warning("stream %s: node %s: forget has raised %s: %s", stream, name, type(error).__name__, error)

    async def _in_order(self, turns: Sequence[_NodeTurn], progress: Progress) -> str | None:
        """Run nodes one after the other; returns how one has failed."""
        for turn in turns:
            try:
                answer = await self._answer(turn, progress, turn.regions)
            except Exception as error:
                return self._failed(turn, progress, error)
            self._take(turn, progress, answer)
        return None

    async def _together(self, turns: Sequence[_NodeTurn], progress: Progress) -> str | None:
        """Run nodes at the same time; their answers are taken in as if they had run in their order.

        Returns how the first of them has failed, once all have ended.
        """
        taken = set[int]()
        shown = [Beside(turn.regions, taken) for turn in turns]
        running = [self._answer(turn, progress, own.regions) for turn, own in zip(turns, shown, strict=True)]
        answers = await asyncio.gather(*running, return_exceptions=True)
        for turn, own, answer in zip(turns, shown, answers, strict=True):
            if isinstance(answer, Exception):
                return self._failed(turn, progress, answer)
            if isinstance(answer, BaseException):
                raise answer
            own.merge()
            self._take(turn, progress, answer)
        return None

    async def _answer(self, turn: _NodeTurn, progress: Progress, regions: Sequence[Region]) -> NodeAnswer:
        answer = await self._asked(turn, progress, regions)
        if isinstance(turn.node.spec, OwnNode):
            plain(answer.regions, regions)
        return answer

    async def _asked(self, turn: _NodeTurn, progress: Progress, regions: Sequence[Region]) -> NodeAnswer:
        name, watch = turn.node.name, progress.watch
        if not progress.answers.shares:
            with watch.stage(name):
                return await ask(self._operators[name], progress.frame, regions, turn.call)
        with watch.stage(name):
            asked = progress.answers.ask(self._shared[name], progress.frame, regions, turn.call)
            answer, took_ms = await asked
            if name in self._adds:
                self._adds[name].add(progress.frame, answer.regions)
        if took_ms is not None:  # it was asked in another walk, where it may have begun before
            watch.stages_ms[name] = took_ms
        return answer

    def _call(self, node: DagNode, progress: Progress) -> Call:
        if not progress.answers.shares:
            return self.plan(node, progress)
        return progress.answers.call(self._shared[node.name], progress)

    def plan(self, node: DagNode, progress: Progress) -> Call:
        """A node's task, as the planner decides."""
        start, after_s = progress.start, self._downstream.after(node.name)
        idle, now_s = self._dag.idle_after(node, progress.seen), self._clock.monotonic_s()
        step = Step(start.stream, node.name, node.models, now_s, start.deadline_s, after_s, idle)
        slo_s, share = self._dag.slo_ms / 1000, self._shares.of(node.name)
        priority = self._dag.priority
        urgency = Urgency(start.deadline_s, start.droppable, after_s, self._background, slo_s, share, priority)
        return Call(self._planner.plan(step), urgency, progress.ahead, unhurried=start.unhurried)

    def _take(self, turn: _NodeTurn, progress: Progress, answer: NodeAnswer) -> None:
        """Take in what a node has answered: regions get their ids, the planner and observers hear of it."""
        node, regions, call = turn
        stream, took_ms = progress.frame.stream, progress.watch.stages_ms[node.name]
        if (here := self._here.get(stream)) is not None:
            here.running.pop(node.name, None)
        for region in answer.regions:
            region.id = len(progress.found)
            progress.found.append(region)
        asked = (answer.decision or call.decision).objects
        progress.items[node.name] = len(regions) if asked is None and node.source is not None else asked or 1
        seen = progress.seen[node.name] = answer.regions if node.makes_regions else [*regions, *answer.regions]
        expected_s = self._planner.ended(stream, node.name, took_ms / 1000, answer.decision or call.decision)
        progress.echo(node, call, answer, expected_s)
        self._observer.node_ran(stream, node.name, took_ms, len(seen))

    def _failed(self, turn: _NodeTurn, progress: Progress, error: Exception) -> str:
        """Log a failure now and then: the result of every failed frame says it. Drop what may have caused several."""
        if isinstance(error, TooLate):
            raise Dropped(LATE) from error
        node, spec = turn.node, turn.node.spec
        progress.echo(node, turn.call, NodeAnswer(), {})
        stream, kind = progress.frame.stream, f"{node.name}: {type(error).__name__}"
        failure = f"{kind}: {error}"
        if (here := self._here.get(stream)) is None:
            return failure  # it was forgotten while the frame was at the node, which failed for want of it
        place = raised_at(error, spec.made) if isinstance(spec, OwnNode) else ""
        here.mishaps.note(f"stream {stream}: node {kind}", f"{place}{error}")
        if not isinstance(error, SluiceError):  # those say what is wrong, such as an engine's
            here.running[node.name] = (here.running[node.name] + 1) % AFTER
            if not here.running[node.name]:
                self._forget(node.name, stream)
        return failure


DIGITS = 1


def decision(made: Decision, answer: NodeAnswer, expected_s: Mapping[str, float]) -> NodeDecision | None:
    """How a decision was carried out; None for a node without a model to choose."""
    if made.variant is None:
        return None
    return NodeDecision(
        variant=made.variant,
        objects=made.objects,
        cause=made.cause,
        expected_ms={model: round(1000 * seconds, DIGITS) for model, seconds in expected_s.items()},
        shortcuts=None if made.shortcuts is None else sorted(made.shortcuts),
        budget_ms=None if made.budget_ms is None else round(made.budget_ms, DIGITS),
        why=made.why,
        declined=dict(answer.declined),
        skipped=answer.skipped,
        window=answer.window,
        detail=answer.detail,
        reason=answer.reason,
    )
