"""From a query to running parts: one operator per node, one executor for all streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from operators.base import Operator
from operators.detect.motion import MotionDetector, MotionSettings
from operators.detect.onnx import OnnxDetector
from operators.inference import Inference
from operators.recognise.classifier import Classifier
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.oracle import shortcuts, with_oracle
from operators.recognise.recogniser import Recogniser
from operators.track import Track, TrackSettings
from pipelines.audits import Audits
from pipelines.dag import Dag, compile_dag
from pipelines.executor import Executor, Observer
from pipelines.planner import FirstListed
from pipelines.query import MOTION, DetectNode, NodeSpec, Query, RecogniseNode, TrackNode


@runtime_checkable
class Prepares(Protocol):
    """An operator with something to load before the first frame."""

    async def prepare(self) -> None:
        """Load it; raises BadInput where that cannot be done."""
        ...


def build_operators(dag: Dag, engine: Inference, audits: Audits | None = None) -> dict[str, Operator]:
    """An operator for every node; raises BadInput where a node's model or gallery cannot be used."""
    return {node.name: build_operator(node.spec, engine, audits) for node in dag.nodes}


def build_operator(spec: NodeSpec, engine: Inference, audits: Audits | None = None) -> Operator:
    """The operator of one node."""
    match spec:
        case DetectNode():
            return _detector(spec, engine)
        case TrackNode():
            return Track(track_settings(spec))
        case RecogniseNode():
            return _recognise(spec, engine, audits)


async def prepare(operators: Iterable[Operator]) -> None:
    """Load every model now: a wrong one ends the command with one line, and the first frame need not wait."""
    for operator in operators:
        if isinstance(operator, Prepares):
            await operator.prepare()


async def build_executor(
    query: Query, engine: Inference, observers: Sequence[Observer] = (), audits: Audits | None = None
) -> Executor:
    """An executor that is ready for frames; ``engine`` must have been started.

    Without ``audits`` the first listed model answers whether it agrees with the oracle or not.
    """
    dag = compile_dag(query)
    operators = build_operators(dag, engine, audits)
    await prepare(operators.values())
    policies = {stream.id: stream.overload_policy for stream in query.streams}
    if audits is not None and audits.nodes:
        observers = (*observers, audits.observe)
    return Executor(dag, operators, FirstListed(), policies, observers)


def motion_settings(spec: DetectNode) -> MotionSettings:
    """What the motion detector needs to know of its node."""
    motion = spec.motion
    return MotionSettings(
        min_area=motion.min_area,
        max_area=motion.max_area,
        absorb_s=motion.absorb_s,
        warmup_s=motion.warmup_s,
        max_objects=spec.max_objects,
    )


def track_settings(spec: TrackNode) -> TrackSettings:
    """What the tracker needs to know of its node."""
    return TrackSettings(spec.confirm_s, spec.lost_after_s, spec.max_distance)


def _detector(spec: DetectNode, engine: Inference) -> Operator:
    if spec.model[0] == MOTION:
        return MotionDetector(spec.name, motion_settings(spec))
    return OnnxDetector(
        engine,
        spec.name,
        spec.model,
        inside=spec.input is not None,
        labels=spec.labels,
        min_confidence=spec.min_confidence,
        max_objects=spec.max_objects,
    )


def _recognise(spec: RecogniseNode, engine: Inference, audits: Audits | None) -> Operator:
    models, oracle = with_oracle(spec.model, engine.card)
    if audits is not None and (spec.specialize or spec.reuse_s):
        return audits.saving(spec, engine, _recogniser(spec, engine, [oracle]), oracle)
    if audits is None or not shortcuts(models, oracle):
        return _recogniser(spec, engine, spec.model)
    return audits.over(spec.name, _recogniser(spec, engine, models), models, oracle)


def _recogniser(spec: RecogniseNode, engine: Inference, models: Sequence[str]) -> Recogniser:
    if spec.gallery is not None:
        return GalleryRecogniser(
            engine,
            models,
            spec.attribute,
            spec.gallery,
            min_similarity=spec.min_confidence,
            margin=spec.margin,
        )
    return Classifier(engine, models, spec.attribute, min_confidence=spec.min_confidence or 0.0, margin=spec.margin)
