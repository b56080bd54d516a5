"""The executor: walks the query's DAG for each frame under a deadline; every frame ends in exactly one outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import UNSET, UnsetType

from operators.base import Operator
from operators.frames.frame import Frame, Region
from operators.wire.schema import FrameHeader, NodeDecision, Outcome, Plan, Result
from pipelines.execute.ahead import Waiting
from pipelines.execute.lane import Dropped, Lane
from pipelines.execute.moments import Moment, Moments
from pipelines.execute.objects import objects_of
from pipelines.execute.overload import POLICIES, WaitingFrame
from pipelines.execute.stopwatch import StageStopwatch
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.execute.walk import Walk
from pipelines.planning.planner import Planner, Start
from pipelines.query.dag import Dag
from serving.common.redaction import redact
from serving.common.threads import in_thread

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
        self._planner = planner
        self._policies, self._room, self._unhurried = limits.policies, limits.room, limits.unhurried
        self._waiting = {stream: Waiting(self.clock) for stream in limits.ahead}
        self._final_steps, self._published = surroundings.final_steps, surroundings.published
        self._observer = surroundings.observer
        self._walk = Walk(dag, operators, planner, surroundings.observer, surroundings.clock)
        self._lanes: dict[str, Lane[Result]] = {}

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

    def published(self, result: Result) -> None:
        """Take note that a result has been published: work for it that nobody waits for may begin."""
        for listener in self._published:
            listener(result)

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
        self._moments.forget(stream)
        self._walk.forget(stream)
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
            watch = StageStopwatch()
            queue_ms = self._ms_since(moment)
            decode = partial(watch.timed, "decode", load)
            frame = decode() if header.raw else await in_thread(decode)
            decoded()
            return await self._analysed(frame, moment, queue_ms, watch)

    async def _analysed(self, frame: Frame, moment: Moment, queue_ms: float, watch: StageStopwatch) -> Result:
        start, ahead = self._start(frame, self._deadline(moment)), self._waiting.get(frame.stream)
        walked = await self._walk.through(frame, start, ahead, watch)
        cause = None if walked.failure is None else redact(walked.failure)
        stages_ms = {"capture": frame.header.decode_ms, "queue": queue_ms, **watch.finish()}
        plan = self._plan(frame.stream, moment, stages_ms, walked.nodes)
        result = self._result(frame.header, "failed" if cause else "analysed", cause, plan, walked.regions)
        for step in self._final_steps:
            await step(frame, result)
        return result

    def _start(self, frame: Frame, deadline: float) -> Start:
        lane = self._lane(frame.stream)
        now_s, droppable = self.clock.monotonic_s(), self._droppable(frame.stream)
        waiting_s, crowded, unhurried = lane.waiting(), lane.crowded, frame.stream in self._unhurried
        return Start(frame.stream, now_s, deadline, droppable, waiting_s, crowded, frame.header.id, unhurried)

    def _droppable(self, stream: str) -> bool:
        return self._policies.get(stream) == "drop_late"

    def _waits(self, stream: str) -> bool | UnsetType:
        return True if stream in self._unhurried else UNSET

    def _plan(
        self, stream: str, moment: Moment, stages_ms: Mapping[str, float], nodes: Mapping[str, NodeDecision]
    ) -> Plan:
        latency_ms = self._ms_since(moment)
        return Plan(
            slo_ms=self._dag.slo_ms,
            deadline_met=moment.known and latency_ms <= self._dag.slo_ms,
            latency_ms=round(latency_ms, 3),
            latency_known=moment.known,
            waits=self._waits(stream),
            stages_ms={name: round(ms, 3) for name, ms in stages_ms.items()},
            nodes=dict(nodes),
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
