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
from operators.track import Track, TrackSettings
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


def build_operators(dag: Dag, engine: Inference) -> dict[str, Operator]:
    """An operator for every node; raises BadInput where a node's model or gallery cannot be used."""
    return {node.name: build_operator(node.spec, engine) for node in dag.nodes}


def build_operator(spec: NodeSpec, engine: Inference) -> Operator:
    """The operator of one node."""
    match spec:
        case DetectNode():
            return _detector(spec, engine)
        case TrackNode():
            return Track(track_settings(spec))
        case RecogniseNode():
            return _recogniser(spec, engine)


async def prepare(operators: Iterable[Operator]) -> None:
    """Load every model now: a wrong one ends the command with one line, and the first frame need not wait."""
    for operator in operators:
        if isinstance(operator, Prepares):
            await operator.prepare()


async def build_executor(query: Query, engine: Inference, observers: Sequence[Observer] = ()) -> Executor:
    """An executor that is ready for frames; ``engine`` must have been started."""
    dag = compile_dag(query)
    operators = build_operators(dag, engine)
    await prepare(operators.values())
    policies = {stream.id: stream.overload_policy for stream in query.streams}
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


def _recogniser(spec: RecogniseNode, engine: Inference) -> Operator:
    if spec.gallery is not None:
        return GalleryRecogniser(
            engine,
            spec.model,
            spec.attribute,
            spec.gallery,
            min_similarity=spec.min_confidence,
            margin=spec.margin,
        )
    return Classifier(engine, spec.model, spec.attribute, min_confidence=spec.min_confidence or 0.0, margin=spec.margin)
