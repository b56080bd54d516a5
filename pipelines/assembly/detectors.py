"""Builds the operators of detect nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.detect.masked import Masked
from operators.detect.motion import MotionDetector, MotionSettings
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.mask import Mask
from operators.inference import Inference
from pipelines.query.nodes import MOST_OBJECTS, MOTION, DetectNode, is_planned, takes_frame

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
    if chains is None:
        return _unmasked(spec, engine, spec.model)
    if spec.when == "always" and not is_planned(spec):
        return _unmasked(spec, engine, spec.model)
    from operators.detect.needed.operator import DetectWhenNeeded, SkipTerms  # optical flow, which few queries need

    roles = Roles.of(spec.model, engine.card)
    decoding = engine.card(roles.oracle).decoding
    least = spec.min_confidence if spec.min_confidence is not None else decoding.min_score if decoding else 0.0
    terms = SkipTerms(chains.rule.accuracy, least, engine, chains.observer)
    plain = _unmasked(spec, engine, roles.models if is_planned(spec) else spec.model)
    always = _planned(spec, plain, terms.sure, engine, chains) if is_planned(spec) else plain
    if spec.when == "always":
        return always
    model = roles.oracle if is_planned(spec) else spec.model[0]
    needed = DetectWhenNeeded(spec.name, always, model, terms, plain)
    chains.shortcuts.add(needed)
    return needed


def _planned(spec: DetectNode, plain: Operator, sure: float, engine: Inference, chains: Chains) -> Operator:
    from operators.detect.variants.audits import VariantTerms  # statistics, which few queries need
    from operators.detect.variants.operator import DetectVariants

    terms = VariantTerms(chains.rule, sure, UnitCosts(engine), chains.purse, chains.changed, chains.observer)
    variants = DetectVariants(spec.name, plain, Roles.of(spec.model, engine.card), terms)
    chains.shortcuts.add(variants, "variants" if spec.when == "needed" else "")
    return variants


def _unmasked(spec: DetectNode, engine: Inference, models: Sequence[str]) -> Operator:
    if spec.model[0] == MOTION:
        return MotionDetector(spec.name, motion_settings(spec))
    reported = Reported(spec.labels, spec.min_confidence, spec.max_objects)
    return OnnxDetector(engine, spec.name, models, reported, inside=not takes_frame(spec), detail=spec.detail)


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
