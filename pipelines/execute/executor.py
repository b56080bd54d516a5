"""The executor: walks the query's DAG for each frame under a deadline; every frame ends in exactly one outcome."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import UNSET, UnsetType

from operators.base import Call, Operator
from operators.frames.frame import Frame, Region
from operators.wire.schema import FrameHeader, Outcome, Plan, Result
from pipelines.execute.ahead import Waiting
from pipelines.execute.fresh_starts import FreshStarts
from pipelines.execute.lane import Dropped, Lane
from pipelines.execute.moments import Moment, Moments
from pipelines.execute.objects import objects_of
from pipelines.execute.overload import LATE, POLICIES, WaitingFrame
from pipelines.execute.plan_echo import decisions
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.least_times import Downstream
from pipelines.planning.planner import Planner, Start, Step
from pipelines.query.dag import Dag, DagNode
from serving.common.redaction import redact
from serving.common.threads import in_thread
from serving.errors import TooLate
from serving.scheduling.urgency import Urgency

log = logging.getLogger(__name__)

T = TypeVar("T")

LoadFrame = Callable[[], Frame]
"""Gives the decoded frame; called only for frames that are not dropped, in a thread where there is much to decode."""


class Executor:
    """Analyses frames: those of one stream in order, those of several streams concurrently."""

    def __init__(
        self,
        dag: Dag,
        operators: Mapping[str, Operator],
        planner: Planner,
        limits: Limits,
        surroundings: Surroundings,
    ) -> None:
        self.clock = surroundings.clock
        """Capture in the same process uses it too."""
        self._moments = Moments(self.clock)
        self._dag = dag
        self._operators = operators
        self._planner = planner
        self._policies, self._room, self._unhurried = limits.policies, limits.room, limits.unhurried
        self._waiting = {stream: Waiting(self.clock) for stream in limits.ahead}
        self._final_steps = surroundings.final_steps
        self._observer = surroundings.observer
        self._downstream = Downstream([node.name for node in dag.nodes])
        self._lanes: dict[str, Lane[Result]] = {}
        self._logged: dict[str, str] = {}
        self._fresh_starts = FreshStarts()

    async def submit(self, header: FrameHeader, load: LoadFrame) -> Result:
        """Analyse one frame; raises only what ``load`` raises, and ``FrameError`` for one that is too large."""
        moment = self._moment(header)
        waiting = WaitingFrame(header.seq, self._deadline(moment))
        self._planner.arrived(header.stream, self.clock.monotonic_s())
        ahead = self._waiting.get(header.stream) if header.raw else None
        if ahead is not None:
            ahead.arrived(header, load)
        try:
            return await self._lane(header.stream).run(waiting, lambda: self._analyse(header, load, moment))
        except Dropped as drop:
            return self._unanalysed(header, moment, "dropped", drop.cause)
        finally:
            if ahead is not None:
                ahead.gone(header)

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str) -> Result:
        """The result of a frame that was not analysed."""
        return self._unanalysed(header, self._moment(header), outcome, cause)

    def _unanalysed(self, header: FrameHeader, moment: Moment, outcome: Outcome, cause: str) -> Result:
        plan = Plan(
            slo_ms=self._dag.slo_ms,
            deadline_met=False,
            latency_ms=round(self._ms_since(moment), 3),
            latency_known=moment.known,
            waits=self._waits(header.stream),
        )
        return self._result(header, outcome, redact(cause), plan)

    def busy(self, stream: str) -> bool:
        """Whether a frame of the stream waits or is analysed."""
        lane = self._lanes.get(stream)
        return lane is not None and not lane.idle

    async def settled(self, within_s: float) -> None:
        """Return when no frame is analysed any more, or after so long."""
        runners = [lane.runner for lane in self._lanes.values() if lane.runner is not None]
        if runners:
            await asyncio.wait(runners, timeout=within_s)

    def forget(self, stream: str) -> None:
        """Drop what the operators know of a stream: its partition moved away."""
        self._lanes.pop(stream, None)
        self._logged.pop(stream, None)
        self._fresh_starts.forget(stream)
        self._moments.forget(stream)
        self._planner.forget(stream)
        for operator in self._operators.values():
            operator.forget(stream)
        self._observer.stream_dropped(stream)

    def _lane(self, stream: str) -> Lane[Result]:
        if stream not in self._lanes:
            policy = POLICIES[self._policies.get(stream, "block")]()
            self._lanes[stream] = Lane(policy, clock=self.clock)
        return self._lanes[stream]

    def _moment(self, header: FrameHeader) -> Moment:
        return self._moments.of(header, idle=not self.busy(header.stream))

    def _ms_since(self, moment: Moment) -> float:
        return (self.clock.monotonic_s() - moment.captured_s) * 1000

    def _deadline(self, moment: Moment) -> float:
        return moment.captured_s + self._dag.slo_ms / 1000

    async def _analyse(self, header: FrameHeader, load: LoadFrame, moment: Moment) -> Result:
        if (ahead := self._waiting.get(header.stream)) is not None:
            ahead.begun(header)
        async with self._room.taken(header) as decoded:
            watch = Stopwatch()
            queue_ms = self._ms_since(moment)
            decode = partial(watch.timed, "decode", load)
            frame = decode() if header.raw else await in_thread(decode)
            decoded()
            return await self._analysed(frame, moment, queue_ms, watch)

    async def _analysed(self, frame: Frame, moment: Moment, queue_ms: float, watch: Stopwatch) -> Result:
        cause, calls = None, dict[str, Call]()
        try:
            regions = await self._walk(frame, self._deadline(moment), watch, calls)
        except NodeFailed as failure:
            cause, regions = redact(str(failure)), []
        stages_ms = {"capture": frame.header.decode_ms, "queue": queue_ms, **watch.finish()}
        if cause is None:
            self._downstream.observe(stages_ms)
        plan = self._plan(frame.stream, moment, stages_ms, calls)
        result = self._result(frame.header, "failed" if cause else "analysed", cause, plan, regions)
        for step in self._final_steps:
            await step(frame, result)
        return result

    async def _walk(self, frame: Frame, deadline: float, watch: Stopwatch, calls: dict[str, Call]) -> list[Region]:
        """Run every node in order; returns all regions found, and notes in ``calls`` what nodes were asked to do."""
        seen: dict[str, list[Region]] = {}
        found: list[Region] = []
        self._planner.begins(self._start(frame, deadline))
        for node in self._dag.nodes:
            regions = node.select(seen)
            call = calls[node.name] = self._call(frame, node, deadline, seen)
            try:
                with watch.stage(node.name):
                    new = await self._operators[node.name].process(frame, regions, call)
            except TooLate as late:
                raise Dropped(LATE) from late
            except Exception as error:
                failure = f"{node.name}: {type(error).__name__}: {error}"
                self._failed(frame.stream, node.name, failure, error)
                raise NodeFailed(failure) from error
            self._fresh_starts.went_well(frame.stream, node.name)
            for region in new:
                region.id = len(found)
                found.append(region)
            seen[node.name] = new if node.makes_regions else regions
            self._planner.ended(frame.stream, node.name, watch.took_ms(node.name) / 1000, call)
            self._observer.node_ran(frame.stream, node.name, watch.took_ms(node.name), len(seen[node.name]))
        return found

    def _failed(self, stream: str, node: str, failure: str, error: Exception) -> None:
        """Log a failure once, since the result of every failed frame says it; drop what may have caused several."""
        if stream not in self._lanes:
            return  # it was forgotten while the frame was at the node, which failed for want of it
        if self._logged.get(stream) != failure:
            self._logged[stream] = failure
            log.warning("stream %s: node %s", stream, failure)
        if self._fresh_starts.failed(stream, node, error):
            self._operators[node].forget(stream)

    def _call(self, frame: Frame, node: DagNode, deadline: float, seen: Mapping[str, Sequence[Region]]) -> Call:
        after_s, idle = self._downstream.after(node.name), self._dag.idle_after(node, seen)
        step = Step(frame.stream, node.name, node.models, self.clock.monotonic_s(), deadline, after_s, idle)
        urgency = Urgency(deadline, self._droppable(frame.stream), after_s)
        return Call(self._planner.plan(step), urgency, ahead=self._waiting.get(frame.stream))

    def _start(self, frame: Frame, deadline: float) -> Start:
        lane = self._lane(frame.stream)
        now_s, droppable = self.clock.monotonic_s(), self._droppable(frame.stream)
        return Start(frame.stream, now_s, deadline, droppable, lane.waiting(), lane.crowded, frame.header.id)

    def _droppable(self, stream: str) -> bool:
        return self._policies.get(stream) == "drop_late"

    def _waits(self, stream: str) -> bool | UnsetType:
        return True if stream in self._unhurried else UNSET

    def _plan(self, stream: str, moment: Moment, stages_ms: Mapping[str, float], calls: Mapping[str, Call]) -> Plan:
        latency_ms = self._ms_since(moment)
        return Plan(
            slo_ms=self._dag.slo_ms,
            deadline_met=moment.known and latency_ms <= self._dag.slo_ms,
            latency_ms=round(latency_ms, 3),
            latency_known=moment.known,
            waits=self._waits(stream),
            stages_ms={name: round(ms, 3) for name, ms in stages_ms.items()},
            nodes=decisions(calls),
        )

    def _result(
        self, header: FrameHeader, outcome: Outcome, cause: str | None, plan: Plan, regions: Sequence[Region] = ()
    ) -> Result:
        return Result(
            stream=header.stream,
            run=header.run,
            seq=header.seq,
            query=self._dag.query,
            frame=header.info,
            outcome=outcome,
            cause=cause,
            plan=plan,
            objects=objects_of(regions),
        )


class NodeFailed(Exception):
    """An operator raised; the message names the node."""


class Stage:
    """Notes how long its block took, however that ends."""

    __slots__ = ("_name", "_stages_ms", "_started")

    def __init__(self, name: str, stages_ms: dict[str, float]) -> None:
        self._name, self._stages_ms = name, stages_ms

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._stages_ms[self._name] = (time.perf_counter() - self._started) * 1000


class Stopwatch:
    """Milliseconds per stage of one frame; ``framework`` is what no stage accounts for."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages_ms: dict[str, float] = {}

    def stage(self, name: str) -> Stage:
        """What happens inside counts for the stage."""
        return Stage(name, self._stages_ms)

    def timed(self, name: str, work: Callable[[], T]) -> T:
        """Do the work as a stage."""
        with self.stage(name):
            return work()

    def took_ms(self, name: str) -> float:
        """How long a stage that has ended took."""
        return self._stages_ms[name]

    def finish(self) -> dict[str, float]:
        """All stages in order."""
        total_ms = (time.perf_counter() - self._started) * 1000
        return {**self._stages_ms, "framework": max(0.0, total_ms - sum(self._stages_ms.values()))}
