"""Builds a query's running parts: one operator per node, one executor for all streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from operators.audits.roles import Roles
from operators.base import Operator, make_ready
from operators.detect.zoned import Zoned
from operators.frames.mask import Mask
from operators.inference import Inference
from operators.recognise.classifier import Classifier
from operators.recognise.recogniser import Recogniser
from operators.recognise.whole_frame import WholeFrame
from operators.track.operator import Track, TrackSettings
from operators.zones.layout import Zone
from pipelines.assembly.detectors import detector
from pipelines.assembly.galleries import Around, gallery_recogniser
from pipelines.execute.byte_budget import ByteBudget
from pipelines.execute.executor import Executor
from pipelines.execute.frame_room import FrameRoom
from pipelines.execute.surroundings import ALONE, Limits, Surroundings
from pipelines.planning.planner import FirstListed, Planner
from pipelines.query.compiled import CompiledQuery
from pipelines.query.dag import Dag
from pipelines.query.look_ahead import streams_ahead, unhurried
from pipelines.query.nodes import caches_in_oracle, takes_frame
from pipelines.query.query_file import DEFAULT_MAX_WIDTH, DetectNode, NodeSpec, Query, RecogniseNode, TrackNode
from pipelines.settings import decoded_memory

if TYPE_CHECKING:
    from pipelines.assembly.chains import Chains


def build_operators(
    dag: Dag,
    engine: Inference,
    chains: Chains | None = None,
    masks: Sequence[Mask] = (),
    zones: Sequence[Zone] = (),
) -> dict[str, Operator]:
    """An operator for every node; raises BadInput where a node's model or gallery cannot be used."""
    around = Around(masks, {node.name: node for node in dag.nodes}, zones)
    return {node.name: build_operator(node.spec, engine, chains, around) for node in dag.nodes}


def build_operator(
    spec: NodeSpec, engine: Inference, chains: Chains | None = None, around: Around | None = None
) -> Operator:
    """The operator of one node; without ``around`` there are no masks, and galleries are enrolled whole."""
    around = around or Around()
    match spec:
        case DetectNode():
            found = detector(spec, engine, around.masks, chains)
            return Zoned(found, around.zones) if around.zones else found
        case TrackNode():
            return Track(track_settings(spec))
        case RecogniseNode():
            return _recognise(spec, engine, chains, around)


async def prepare(operators: Iterable[Operator]) -> None:
    """Load every model now: a wrong one ends the command with one line, and the first frame need not wait."""
    for operator in operators:
        await make_ready(operator)


async def build_executor(
    wanted: CompiledQuery,
    engine: Inference,
    chains: Chains | None = None,
    surroundings: Surroundings = ALONE,
    planner: Planner | None = None,
) -> Executor:
    """An executor that is ready for frames; ``engine`` must have been started.

    Without ``chains`` the first listed model answers whether it agrees with the oracle or not; without ``planner`` it
    is planned for every frame.
    """
    query = wanted.query
    operators = build_operators(wanted.dag, engine, chains, [each.mask for each in query.masks], query.layout.zones)
    await prepare(operators.values())
    policies = {stream.id: stream.overload_policy for stream in query.streams}
    if chains is not None and chains.shortcuts.nodes:
        steps = (*surroundings.final_steps, chains.shortcuts.frame_done)
        surroundings = replace(surroundings, final_steps=steps)
    limits = Limits(policies, frame_room(query), streams_ahead(query), unhurried(query))
    return Executor(wanted.dag, operators, planner or FirstListed(), limits, surroundings)


def frame_room(query: Query) -> FrameRoom:
    """The memory for decoded frames, and the size up to which each stream's frames are decoded."""
    widths = {stream.id: stream.max_width for stream in query.streams}
    return FrameRoom(ByteBudget(decoded_memory()), widths, max(widths.values(), default=DEFAULT_MAX_WIDTH))


def track_settings(spec: TrackNode) -> TrackSettings:
    """Return the tracker's settings from its node."""
    return TrackSettings(spec.confirm_s, spec.lost_after_s, spec.max_distance)


def _recognise(spec: RecogniseNode, engine: Inference, chains: Chains | None, around: Around) -> Operator:
    if chains is not None and caches_in_oracle(spec, oracle := Roles.of(spec.model, engine.card).oracle):
        from operators.recognise.cached.sampled_engine import EVERY, SampledEngine

        engine = SampledEngine(engine, oracle, 1 if spec.answer == "track" else EVERY)
    recogniser = _recogniser(spec, engine, around)
    operator = recogniser if chains is None else chains.operator(spec, engine, recogniser)
    return WholeFrame(spec.name, operator) if takes_frame(spec) else operator


def _recogniser(spec: RecogniseNode, engine: Inference, around: Around) -> Recogniser:
    if spec.gallery is not None:
        return gallery_recogniser(spec, engine, around)
    roles = Roles.of(spec.model, engine.card)
    return Classifier(engine, roles, spec.attribute, min_confidence=spec.min_confidence, margin=spec.margin)
