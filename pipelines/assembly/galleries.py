"""Builds recognisers with a gallery, and checks galleries with the networks of their query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from operators.audits.roles import Roles
from operators.frames.mask import Mask
from operators.inference import Inference
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.gallery_check import GalleryReport, checked
from operators.recognise.portraits import Detected, Finder, Whole
from operators.zones.layout import Zone
from pipelines.assembly.detectors import detector
from pipelines.environment import backend
from pipelines.query.dag import Dag, DagNode, passes, way_to
from pipelines.query.nodes import MOTION, DetectNode, RecogniseNode
from serving.catalogue.lookup import Catalogue


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


def _finder(spec: RecogniseNode, engine: Inference, around: Around) -> Finder:
    """The query's own way to the objects of a node: the detector that makes them, and the filters behind it."""
    path = way_to(around.nodes.get(spec.name), around.nodes)
    first = path[-1].spec if path else None
    if not isinstance(first, DetectNode) or first.model[0] == MOTION:
        return Whole()
    found = detector(first.model_copy(update={"input": None}), engine)
    return Detected(found, first.model[0], partial(passes, path[:-1]))


async def gallery_reports(dag: Dag, catalogue: Catalogue) -> dict[str, GalleryReport]:
    """What the gallery of each node needs, by the node's name; ModelError where a network cannot be opened."""
    around = Around(nodes={node.name: node for node in dag.nodes})
    engine, reports = backend(catalogue), dict[str, GalleryReport]()
    await engine.start()
    try:
        for node in dag.nodes:
            if isinstance(node.spec, RecogniseNode) and node.spec.gallery is not None:
                recogniser = gallery_recogniser(node.spec, engine, around)
                reports[node.name] = await checked(recogniser, recogniser.roles.models[0])
    finally:
        await engine.stop()
    return reports
