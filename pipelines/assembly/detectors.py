"""Builds the operators of detect nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from operators.base import Operator
from operators.detect.masked import Masked
from operators.detect.motion import MotionDetector, MotionSettings
from operators.detect.onnx import OnnxDetector
from operators.frames.mask import Mask
from operators.inference import Inference
from pipelines.query.nodes import MOST_OBJECTS, MOTION, DetectNode, takes_frame

if TYPE_CHECKING:
    from pipelines.assembly.chains import Chains


def detector(spec: DetectNode, engine: Inference, masks: Sequence[Mask] = (), chains: Chains | None = None) -> Operator:
    """The operator of a detect node; masks choose among all that it can report of a whole frame.

    Without ``chains`` it runs on every frame.
    """
    if not masks or not takes_frame(spec):
        return _where_needed(spec, engine, chains)
    widest = spec.model_copy(update={"max_objects": MOST_OBJECTS})
    return Masked(_where_needed(widest, engine, chains), masks, spec.max_objects)


def _where_needed(spec: DetectNode, engine: Inference, chains: Chains | None) -> Operator:
    always = _unmasked(spec, engine)
    if spec.when == "always" or chains is None:
        return always
    from operators.detect.needed.operator import Demand, DetectWhenNeeded  # optical flow, which few queries need

    model = spec.model[0]
    decoding = engine.card(model).decoding
    least = spec.min_confidence if spec.min_confidence is not None else decoding.min_score if decoding else 0.0
    needed = DetectWhenNeeded(spec.name, always, engine, model, Demand(chains.rule.accuracy, least))
    chains.shortcuts.add(needed)
    return needed


def _unmasked(spec: DetectNode, engine: Inference) -> Operator:
    if spec.model[0] == MOTION:
        return MotionDetector(spec.name, motion_settings(spec))
    return OnnxDetector(
        engine,
        spec.name,
        spec.model,
        inside=not takes_frame(spec),
        labels=spec.labels,
        min_confidence=spec.min_confidence,
        max_objects=spec.max_objects,
    )


def motion_settings(spec: DetectNode) -> MotionSettings:
    """Return the motion detector's settings from its node."""
    motion = spec.motion
    return MotionSettings(
        min_area=motion.min_area,
        max_area=motion.max_area,
        absorb_s=motion.absorb_s,
        warmup_s=motion.warmup_s,
        max_objects=spec.max_objects,
    )
