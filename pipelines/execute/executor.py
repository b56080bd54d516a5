"""The executor of a query: walks its DAG for each frame under a deadline; every frame ends in exactly one outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import UNSET

from operators.base import Operator
from operators.frames.frame import Region
from operators.wire.schema import FrameHeader, NodeDecision, Outcome, Plan, Result
from pipelines.execute.ahead import Waiting
from pipelines.execute.lane import Claim, Dropped
from pipelines.execute.lanes import FrameTurn, Lanes, LoadFrame
from pipelines.execute.moments import Moment
from pipelines.execute.objects import objects_of
from pipelines.execute.overload import StreamPatience
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.execute.walk import Progress, Walk
from pipelines.planning.planner import Planner, Start
from pipelines.query.dag import Dag
from serving.common.redaction import redact

NOTHING: Mapping[str, Any] = {}


class Executor:
    """Analyses frames: those of one stream in order, those of several streams concurrently.

    Executors of several queries may share their lanes: they work on a frame in the same turn.
    """

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
        self._lanes = limits.lanes or Lanes(self.clock, limits.room)
        self._dag = dag
        self._planner = planner
        self._policies, self._unhurried = limits.policies, limits.unhurried
        self._patience: dict[str, StreamPatience] = {}
        self._waiting = {stream: Waiting(self.clock) for stream in limits.ahead}
        self._final_steps, self._published = surroundings.final_steps, surroundings.published
        self._observer = surroundings.observer
        self._walk = Walk(dag, operators, planner, surroundings)

    async def submit(self, header: FrameHeader, load: LoadFrame) -> Result:
        """Analyse one frame; raises only what ``load`` raises, and ``FrameError`` for one that is too large."""
        moment = self._lanes.moment(header)
        self._planner.arrived(header.stream, self.clock.monotonic_s())
        ahead = self._waiting.get(header.stream) if header.raw else None
        if ahead is not None:
            ahead.arrived(header, load)
        deadline_s, patience = self._deadline(moment), self._patient(header.stream)
        try:
            work = partial(self._begin, header, moment)
            return await self._lanes.run(header, load, Claim(deadline_s, patience, work))
        except Dropped as drop:
            return self.unanalysed(header, "dropped", drop.cause, moment)
        finally:
            if ahead is not None:
                ahead.gone(header)

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str, moment: Moment | None = None) -> Result:
        """Make the result of a frame that no node has looked at."""
        plan = self._plan(header.stream, moment or self._lanes.moment(header), analysed=False)
        return self._result(header, outcome, redact(cause), plan)

    def published(self, result: Result) -> None:
        for listener in self._published:
            listener(result)

    def busy(self, stream: str) -> bool:
        return self._lanes.busy(stream)

    async def settled(self, within_s: float) -> None:
        await self._lanes.settled(within_s)

    def forget(self, stream: str) -> None:
        """Drop what the operators know of a stream: its partition moved away."""
        self._lanes.forget(stream)
        self._patience.pop(stream, None)
        self._walk.forget(stream)
        self._observer.stream_dropped(stream)

    def _patient(self, stream: str) -> StreamPatience:
        if stream not in self._patience:
            self._patience[stream] = StreamPatience(self._policies.get(stream, "block"))
        return self._patience[stream]

    def _deadline(self, moment: Moment) -> float:
        return moment.captured_s + self._dag.slo_ms / 1000

    def _begin(self, header: FrameHeader, moment: Moment, turn: FrameTurn) -> Awaitable[Result]:
        """Set out with a frame whose turn has come; awaiting what this returns goes on."""
        stream, deadline_s = header.stream, self._deadline(moment)
        if (ahead := self._waiting.get(stream)) is not None:
            ahead.begun(header)
        lane, now_s = self._lanes.of(stream), self.clock.monotonic_s()
        waiting_s, unhurried = lane.waiting(self._patient(stream)), stream in self._unhurried
        droppable = self._policies.get(stream) == "drop_late"
        start = Start(stream, now_s, deadline_s, droppable, waiting_s, lane.crowded, header.id, unhurried)
        progress = self._walk.begin(turn.frame, start, ahead, turn.watch.another(), turn.answers)
        return self._analyse(progress, moment, (turn.began_s - moment.captured_s) * 1000)

    async def _analyse(self, progress: Progress, moment: Moment, queue_ms: float) -> Result:
        frame = progress.frame
        walked = await self._walk.through(progress)
        cause = None if walked.failure is None else redact(walked.failure)
        stages_ms = {"capture": frame.header.decode_ms, "queue": queue_ms, **progress.watch.finish()}
        plan = self._plan(frame.stream, moment, stages_ms, walked.nodes)
        result = self._result(frame.header, "failed" if cause else "analysed", cause, plan, walked.regions)
        for step in self._final_steps:
            await step(frame, result)
        return result

    def _plan(
        self,
        stream: str,
        moment: Moment,
        stages_ms: Mapping[str, float] = NOTHING,
        nodes: Mapping[str, NodeDecision] = NOTHING,
        analysed: bool = True,
    ) -> Plan:
        latency_ms = (self.clock.monotonic_s() - moment.captured_s) * 1000
        return Plan(
            slo_ms=self._dag.slo_ms,
            deadline_met=analysed and moment.known and latency_ms <= self._dag.slo_ms,
            latency_ms=round(latency_ms, 3),
            latency_known=moment.known,
            waits=True if stream in self._unhurried else UNSET,
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
