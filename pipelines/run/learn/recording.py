"""Runs a query over recordings with the oracles of its recognise nodes alone, and takes their looks."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from cache_adapt.learned.pooled import ShownLooks
from operators.base import Call, Operator, make_ready
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame, Region, make_image
from operators.inference import Inference, prepared
from operators.recognise.classifier import Classifier
from operators.recognise.objects.objects import Objects, shown
from operators.recognise.whole_frame import WholeFrame
from pipelines.assembly.engine import engine_of
from pipelines.assembly.environment import Environment
from pipelines.assembly.node import node
from pipelines.assembly.parts import frame_room
from pipelines.assembly.recognise import looks
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import ALONE, Limits
from pipelines.measure.stand_ins.shown import LEARNT, ShownItems, Watched
from pipelines.planning.planner import Planner
from pipelines.process.signals import stop_loop_on_signals, stop_when_hung
from pipelines.query.dag import CompiledQuery
from pipelines.query.nodes import takes_frame
from pipelines.query.query_file import Query
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.learn.learnable import LearnableNode
from pipelines.run.learn.taken import TakenLooks
from serving.common.tensors import Array, Image
from serving.engines.exits import ExitResult
from serving.errors import BadInput, ModelError
from serving.scheduling.requests import Urgency

OnProgress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 … 1."""


@dataclass(frozen=True)
class RecordedLooks:
    frames: int
    by_node: Mapping[str, TakenLooks]
    shown: Mapping[str, ShownItems]
    """By network: some of what those were shown that may have a stand-in."""


def check_recorded(query: Query) -> None:
    """Raise BadInput for a stream that has no end."""
    for stream in query.streams:
        if stream.uri.live:
            raise BadInput(f"stream {stream.id} is live: record it, and give --source RECORDING")


async def recorded(
    wanted: CompiledQuery,
    nodes: Sequence[LearnableNode],
    models: Sequence[str],
    specs: Sequence[CaptureSpec],
    report: OnProgress,
) -> RecordedLooks:
    """Analyse the query's streams to their end, or until a signal comes; ``models``: those that may have stand-ins."""
    run = EmbeddedRun(specs)
    engine = engine_of(wanted)
    watched = Watched(engine, models, random.Random(0), LEARNT)
    await engine.start()
    try:
        takers = {each.spec.name: taker(each, watched) for each in nodes}
        executor = await _executor(wanted, watched, takers)
        frames = 0
        with stop_loop_on_signals() as stop:
            async with stop_when_hung(engine.hung, stop), aclosing(run.results(executor, stop)) as results:
                async for _ in results:
                    frames += 1
                    report(f"{frames} frames, {sum(each.taken.seen for each in takers.values())} looks", 0.0)
    finally:
        await engine.stop()
    return RecordedLooks(frames, {name: each.taken for name, each in takers.items()}, watched.uses)


def taker(each: LearnableNode, engine: Inference, pools: bool = True) -> TakesLooks:
    """Takes the looks of a node; ``pools``: whether looks at one object may be one answer."""
    recogniser = looks(each.spec, Environment(engine))
    if not isinstance(recogniser, Classifier):
        raise ModelError(f"node {each.spec.name}: exits are learnt for classifiers")
    return TakesLooks(each, recogniser, engine, pools and each.spec.answer == "track")


async def _executor(wanted: CompiledQuery, engine: Inference, takers: Mapping[str, TakesLooks]) -> Executor:
    """Frames wait for the analysis, whatever the query says: none is to be dropped."""
    environment = Environment.of(wanted, engine)
    operators: dict[str, Operator] = {}
    for each in wanted.dag.nodes:
        name, mine = each.spec.name, takers.get(each.spec.name)
        operators[name] = node(each.spec, environment) if mine is None else mine
        if mine is not None and takes_frame(each.spec):
            operators[name] = WholeFrame(name, mine)
        await make_ready(operators[name])
    query = wanted.query
    unhurried = [stream.id for stream in query.streams]
    limits = Limits(dict.fromkeys(unhurried, "block"), frame_room([query]), unhurried=unhurried)
    return Executor(wanted.dag, operators, Planner(), limits, ALONE)


class TakesLooks:
    """Operator: looks as the node's own operator does without exits and other networks."""

    def __init__(self, node: LearnableNode, recogniser: Classifier, engine: Inference, pools: bool) -> None:
        self._node, self._recogniser, self._engine = node, recogniser, engine
        self._network = engine.add_cuts(node.oracle, [cut.tensor for cut in node.cuts])
        self._objects = Objects(recogniser) if pools else None
        self.taken = TakenLooks(node.vocabulary, None if self._objects is None else self._objects.pool_rule)

    async def prepare(self) -> None:
        """Load the cut network; ModelError where it cannot be cut."""
        await self._engine.load(self._network)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        if self._objects is None:
            await self._look(frame, regions, call)
            self._recogniser.accept(regions)
        else:
            due, _ = self._objects.due(frame, regions)
            await self._look(frame, due, call)
            self._objects.answer(frame, regions, due)
        return []

    def forget(self, stream: str) -> None:
        if self._objects is not None:
            self._objects.forget(stream)

    async def _look(self, frame: Frame, regions: Sequence[Region], call: Call) -> None:
        if not regions:
            return
        await make_image(frame)
        oracle = self._node.oracle
        crops = self._recogniser.crops(oracle, frame, regions)
        scores = await self.take(crops, shown(frame, regions, self._objects), call.urgency)
        for region, look in zip(regions, await self._recogniser.said(oracle, scores), strict=True):
            region.attributes.append(look)

    async def take(self, pictures: Sequence[Image], shown: ShownLooks, urgency: Urgency) -> Array:
        """Take looks at pictures of objects; returns the oracle's scores."""
        oracle = self._node.oracle
        batch, _ = await prepared(self._engine.card(oracle).input, pictures)
        found = ExitResult.of(await self._engine.infer(self._network, batch, urgency))
        self.taken.add(batch, found, self._recogniser.shares(oracle, found.scores), shown)
        return found.scores
