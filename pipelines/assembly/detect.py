"""Builds the operators of detect nodes, from the detector outwards."""

from __future__ import annotations

from collections.abc import Sequence

from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.detect.detail.dial import AutoDetail
from operators.detect.motion import MotionDetector, MotionSettings
from operators.detect.onnx import OnnxDetector, Reported
from operators.detect.zoned import Masked, Zoned
from operators.inference import Inference
from pipelines.assembly.environment import Audits, Environment
from pipelines.query.nodes import MOST_OBJECTS, MOTION, DetectNode, is_planned, takes_frame


def detect(spec: DetectNode, environment: Environment) -> Operator:
    """Masks choose among all that the detector can report of a whole frame; without audits it runs on every frame."""
    masked = bool(environment.masks) and takes_frame(spec)
    looks = spec.model_copy(update={"max_objects": MOST_OBJECTS}) if masked else spec
    audits = environment.audits
    found = detector(looks, environment.engine) if audits is None else _audited(looks, environment, audits)
    return located(found, environment, spec.max_objects if masked else None)


def located(found: Operator, environment: Environment, masked: int | None) -> Operator:
    """An operator that finds objects, with the query's masks and zones; ``masked``: at most so many; None: no masks."""
    found = found if masked is None else Masked(found, environment.masks, masked)
    return Zoned(found, environment.zones) if environment.zones else found


def detector(spec: DetectNode, engine: Inference, models: Sequence[str] | None = None) -> Operator:
    """Looks at every frame, by the listed models or by these."""
    if spec.model[0] == MOTION:
        return MotionDetector(spec.name, motion_settings(spec))
    reported = Reported(spec.labels, spec.min_confidence, spec.max_objects)
    return OnnxDetector(
        engine, spec.name, models or spec.model, reported, inside=not takes_frame(spec), detail=_detail(spec)
    )


def _detail(spec: DetectNode) -> int | AutoDetail | None:
    return AutoDetail(spec.detail_cost) if spec.detail == "auto" else spec.detail


def motion_settings(spec: DetectNode) -> MotionSettings:
    """Return the motion detector's settings from its node."""
    motion = spec.motion
    return MotionSettings(
        min_area=motion.min_area,
        max_area=motion.max_area,
        absorb_s=motion.absorb_s,
        warmup_s=motion.warmup_s,
        min_fill=MotionSettings().min_fill if spec.min_confidence is None else spec.min_confidence,
        max_objects=spec.max_objects,
    )


def _audited(spec: DetectNode, environment: Environment, audits: Audits) -> Operator:
    """Chooses between several models, and skips frames."""
    engine, stand_ins = environment.engine, environment.stand_ins.get(spec.name, ())
    planned = is_planned(spec) or bool(stand_ins)
    if spec.when == "always" and not planned:
        return detector(spec, engine)
    from operators.detect.agreement import UNSURE
    from operators.detect.needed.needed_stream import SkipTerms
    from operators.detect.needed.operator import DetectWhenNeeded  # optical flow

    roles = Roles.of(spec.model, engine.card, stand_ins)
    decoding = engine.card(roles.oracle).decoding
    least = spec.min_confidence if spec.min_confidence is not None else decoding.min_score if decoding else 0.0
    plain = detector(spec, engine, roles.at_once if planned else None)
    always = _variants(spec, plain, roles, least + UNSURE, environment, audits) if planned else plain
    if spec.when == "always":
        return always
    detail = AutoDetail(spec.detail_cost) if spec.detail == "auto" else None
    terms = SkipTerms(audits.rule.accuracy, least, engine, environment.observer, detail)
    needed = DetectWhenNeeded(spec.name, always, roles.oracle if planned else spec.model[0], terms, plain)
    audits.shortcuts.add(needed)
    return needed


def _variants(
    spec: DetectNode, plain: Operator, roles: Roles, sure: float, environment: Environment, audits: Audits
) -> Operator:
    from operators.detect.variants.audits import VariantTerms  # statistics, which few queries need
    from operators.detect.variants.operator import DetectVariants

    costs = UnitCosts(environment.engine)
    terms = VariantTerms(audits.rule, sure, costs, audits.budget, audits.changed, environment.observer)
    variants = DetectVariants(spec.name, plain, roles, terms)
    audits.shortcuts.add(variants, "variants" if spec.when == "needed" else "")
    return variants
