"""The executor: walks the query's DAG for each frame under a deadline; every frame ends in exactly one outcome."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from operators.base import Call, Operator
from operators.frame import Frame, Region
from operators.schema import FrameHeader, FrameInfo, Outcome, Plan, Result
from pipelines.assemble import objects_of
from pipelines.dag import Dag, DagNode
from pipelines.downstream import Downstream
from pipelines.lane import Dropped, Lane
from pipelines.overload import LATE, POLICIES, PolicyName, Waiting
from pipelines.planner import Planner
from serving.errors import TooLate
from serving.threads import beside
from serving.urgency import Urgency

log = logging.getLogger(__name__)

T = TypeVar("T")

Load = Callable[[], Frame]
"""Gives the decoded frame; called only for frames that are not dropped, in a thread where there is much to decode."""

Observer = Callable[[Frame, Result], Awaitable[None]]
"""Told of every analysed frame with its picture; the stream's next frame waits for it."""


class Executor:
    """Analyses frames: those of one stream in order, those of several streams concurrently."""

    def __init__(
        self,
        dag: Dag,
        operators: Mapping[str, Operator],
        planner: Planner,
        policies: Mapping[str, PolicyName],
        observers: Sequence[Observer] = (),
    ) -> None:
        self._dag = dag
        self._operators = operators
        self._planner = planner
        self._policies = policies
        self._observers = observers
        self._downstream = Downstream([node.name for node in dag.nodes])
        self._lanes: dict[str, Lane[Result]] = {}
        self._told: dict[str, str] = {}

    async def submit(self, header: FrameHeader, load: Load) -> Result:
        """Analyse one frame; raises only what ``load`` raises."""
        deadline = self._deadline(header)
        lane = self._lane(header.stream)
        try:
            return await lane.run(Waiting(header.seq, deadline), lambda: self._analyse(header, load, deadline))
        except Dropped as drop:
            return self.unanalysed(header, "dropped", drop.cause)

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str) -> Result:
        """The result of a frame that was not analysed."""
        latency_ms = _ms_since(header.captured_at)
        return Result(
            stream=header.stream,
            run=header.run,
            seq=header.seq,
            query=self._dag.query,
            frame=_frame_info(header),
            outcome=outcome,
            cause=cause,
            plan=Plan(slo_ms=self._dag.slo_ms, deadline_met=False, latency_ms=round(latency_ms, 3)),
        )

    def forget(self, stream: str) -> None:
        """Drop what the operators know of a stream: its partition moved away."""
        self._lanes.pop(stream, None)
        for operator in self._operators.values():
            operator.forget(stream)

    def _lane(self, stream: str) -> Lane[Result]:
        if stream not in self._lanes:
            policy = POLICIES[self._policies.get(stream, "block")]()
            self._lanes[stream] = Lane(policy)
        return self._lanes[stream]

    def _deadline(self, header: FrameHeader) -> float:
        """``captured_at + slo`` on the event loop's clock."""
        left_s = (self._dag.slo_ms - _ms_since(header.captured_at)) / 1000
        return asyncio.get_running_loop().time() + left_s

    async def _analyse(self, header: FrameHeader, load: Load, deadline: float) -> Result:
        watch = Stopwatch()
        queue_ms = max(0.0, _ms_since(header.captured_at))
        decode = partial(watch.timed, "decode", load)
        frame = decode() if header.encoding == "bgr24" else await beside(decode)
        cause = None
        try:
            regions = await self._walk(frame, deadline, watch)
        except NodeFailed as failure:
            cause, regions = str(failure), []
        result = self._result(frame, header, regions, cause, queue_ms, watch)
        for observe in self._observers:
            await observe(frame, result)
        return result

    async def _walk(self, frame: Frame, deadline: float, watch: Stopwatch) -> list[Region]:
        """Run every node in order; returns all regions found."""
        seen: dict[str, list[Region]] = {}
        found: list[Region] = []
        for node in self._dag.nodes:
            regions = node.select(seen)
            call = self._call(frame, node, deadline)
            try:
                with watch.stage(node.name):
                    new = await self._operators[node.name].process(frame, regions, call)
            except TooLate as late:
                raise Dropped(LATE) from late
            except Exception as error:
                failure = f"{node.name}: {type(error).__name__}: {error}"
                self._tell(frame.stream, failure)
                raise NodeFailed(failure) from error
            for region in new:
                region.id = len(found)
                found.append(region)
            seen[node.name] = new if node.makes_regions else regions
        return found

    def _tell(self, stream: str, failure: str) -> None:
        """Once, not for every frame: the results tell of those."""
        if self._told.get(stream) != failure:
            self._told[stream] = failure
            log.warning("stream %s: node %s", stream, failure)

    def _call(self, frame: Frame, node: DagNode, deadline: float) -> Call:
        remaining_ms = (deadline - asyncio.get_running_loop().time()) * 1000
        model = self._planner.choose(frame.stream, node.name, node.models, remaining_ms)
        droppable = self._policies.get(frame.stream) == "drop_late"
        return Call(model, Urgency(deadline, droppable, self._downstream.after(node.name)))

    def _result(
        self,
        frame: Frame,
        header: FrameHeader,
        regions: list[Region],
        cause: str | None,
        queue_ms: float,
        watch: Stopwatch,
    ) -> Result:
        latency_ms = _ms_since(header.captured_at)
        stages_ms = {"capture": header.decode_ms, "queue": queue_ms, **watch.finish()}
        if cause is None:
            self._downstream.observe(stages_ms)
        return Result(
            stream=frame.stream,
            run=frame.run,
            seq=frame.seq,
            query=self._dag.query,
            frame=_frame_info(header),
            outcome="failed" if cause else "analysed",
            cause=cause,
            plan=Plan(
                slo_ms=self._dag.slo_ms,
                deadline_met=latency_ms <= self._dag.slo_ms,
                latency_ms=round(latency_ms, 3),
                stages_ms={name: round(ms, 3) for name, ms in stages_ms.items()},
            ),
            objects=objects_of(regions),
        )


class NodeFailed(Exception):
    """An operator raised; the message names the node."""


class Stopwatch:
    """Milliseconds per stage of one frame; ``framework`` is what no stage accounts for."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages_ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What happens inside counts for the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages_ms[name] = (time.perf_counter() - started) * 1000

    def timed(self, name: str, work: Callable[[], T]) -> T:
        """Do the work as a stage."""
        with self.stage(name):
            return work()

    def finish(self) -> dict[str, float]:
        """All stages in order."""
        total_ms = (time.perf_counter() - self._started) * 1000
        return {**self._stages_ms, "framework": max(0.0, total_ms - sum(self._stages_ms.values()))}


def _ms_since(moment: datetime) -> float:
    return (datetime.now(UTC) - moment).total_seconds() * 1000


def _frame_info(header: FrameHeader) -> FrameInfo:
    return FrameInfo(
        width=header.width, height=header.height, media_time_s=header.media_time_s, captured_at=header.captured_at
    )
