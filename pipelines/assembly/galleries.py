"""Builds recognisers with a gallery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from operators.audits.roles import Roles
from operators.frames.mask import Mask
from operators.inference import Inference
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.portraits import DetectedObject, PortraitFinder, WholePicture
from operators.zones.layout import Zone
from pipelines.assembly.detectors import detector
from pipelines.query.dag import DagNode, passes, way_to
from pipelines.query.nodes import MOTION, DetectNode, RecogniseNode


@dataclass(frozen=True)
class Around:
    """What there is around a node in its query."""

    masks: Sequence[Mask] = ()
    """For detectors that look at the whole frame."""
    nodes: Mapping[str, DagNode] = field(default_factory=dict)
    """All nodes by name."""
    zones: Sequence[Zone] = ()
    """In which objects may be."""


def gallery_recogniser(spec: RecogniseNode, engine: Inference, around: Around) -> GalleryRecogniser:
    """The recogniser of a node with a gallery, which it enrols as the query's detector finds the objects."""
    assert spec.gallery is not None
    return GalleryRecogniser(
        engine,
        Roles.of(spec.model, engine.card),
        spec.attribute,
        spec.gallery,
        min_similarity=spec.min_confidence,
        margin=spec.margin,
        finder=_finder(spec, engine, around),
    )


def _finder(spec: RecogniseNode, engine: Inference, around: Around) -> PortraitFinder:
    """The query's own way to the objects of a node: the detector that makes them, and the filters behind it."""
    path = way_to(around.nodes.get(spec.name), around.nodes)
    first = path[-1].spec if path else None
    if not isinstance(first, DetectNode) or first.model[0] == MOTION:
        return WholePicture()
    found = detector(first.model_copy(update={"input": None}), engine)
    return DetectedObject(found, first.model[0], partial(passes, path[:-1]))
