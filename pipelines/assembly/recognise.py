"""Builds the operators of recognise nodes: a recogniser, and a chain of networks that may answer in its place."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path

from operators.audits.roles import Roles, is_whole
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.recognise.audits.crossings import Crossings
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.enrolment import KeptVectors
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.late_looks import LateLooks
from operators.recognise.objects.look_rule import LOOK_RULE, PAID_LOOK_RULE, PAID_SCENE_RULE, SCENE_RULE
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.scenes import Scenes
from operators.recognise.portraits import DetectedObject, PortraitFinder, WholePicture
from operators.recognise.recogniser import Recogniser
from operators.recognise.remote_reference import RemoteReference
from operators.recognise.variants import VariantShortcut
from operators.recognise.whole_frame import SceneLooks, WholeFrame
from pipelines.assembly.detect import detector
from pipelines.assembly.environment import Audits, Environment
from pipelines.assembly.exits import with_exits
from pipelines.assembly.node_words import runs_elsewhere
from pipelines.environment import artefacts_dir
from pipelines.query.dag import passes, way_to
from pipelines.query.nodes import MOTION, DetectNode, RecogniseNode, takes_frame


def recognise(spec: RecogniseNode, environment: Environment) -> Operator:
    """The recogniser itself where every look is an answer and the node has no shortcut."""
    audits = environment.audits
    operator = looks(spec, environment) if audits is None else _audited(spec, environment, audits)
    return WholeFrame(spec.name, operator) if takes_frame(spec) else operator


def looks(spec: RecogniseNode, environment: Environment) -> Classifier | GalleryRecogniser:
    """The recogniser of a node, which asks whichever model a call names."""
    if spec.gallery is not None:
        return gallery_recogniser(spec, spec.gallery, environment)
    roles = Roles.of(spec.models, environment.engine.card, environment.stand_ins.get(spec.name, ()))
    return Classifier(environment.engine, roles, spec.attribute, min_confidence=spec.min_confidence, margin=spec.margin)


def gallery_recogniser(spec: RecogniseNode, gallery: Path, environment: Environment) -> GalleryRecogniser:
    """One that enrols a gallery as the query's detector finds the objects."""
    return GalleryRecogniser(
        environment.engine,
        Roles.of(spec.models, environment.engine.card),
        spec.attribute,
        gallery,
        min_similarity=spec.min_confidence,
        margin=spec.margin,
        finder=_finder(spec, environment),
        kept=partial(_kept, spec, gallery, environment),
    )


def _kept(spec: RecogniseNode, gallery: Path, environment: Environment, model: str) -> KeptVectors | None:
    """Where the vectors of a gallery by a network of this machine are kept; None: its card does not say all of it."""
    if runs_elsewhere(model) or not is_whole(model):
        return None
    specs = [each.spec for each in way_to(environment.nodes.get(spec.name), environment.nodes)] or [spec]
    models = [name for each in specs for name in each.models if name != MOTION]
    said = [each.model_dump_json() for each in (*specs, *map(environment.engine.card, models))]
    place, way = (
        hashlib.sha256("\0".join(each).encode()).hexdigest()
        for each in ([str(gallery.resolve()), environment.query, spec.name, model], said)
    )
    return KeptVectors(artefacts_dir() / "galleries" / f"{place[:16]}.json", way)


def _audited(spec: RecogniseNode, environment: Environment, audits: Audits) -> Operator:
    roles = Roles.of(spec.models, environment.engine.card)
    elsewhere = [model for model in roles.models if runs_elsewhere(model)]
    if roles.oracle in elsewhere:
        now_s, took = environment.clock.monotonic_s, audits.budget.used_elsewhere
        environment = replace(environment, engine=RemoteReference(environment.engine, roles.oracle, now_s, took))
    recogniser, costs = looks(spec, environment), UnitCosts(environment.engine)
    variants = [VariantShortcut(recogniser, model) for model in recogniser.roles.listed_shortcuts]
    late = LateLooks(recogniser, environment.clock) if recogniser.roles.oracle in spec.endpoints else None
    crossings = Crossings(audits.budget.share, elsewhere) if elsewhere else None
    networks = ChainNetworks(recogniser, costs, variants, crossings=crossings, late=late)
    objects = _objects(spec, recogniser, environment) if spec.answer == "track" else None
    networks = with_exits(spec, networks, environment, audits, objects)
    if not variants and objects is None and networks.cut is None:
        return recogniser
    terms = ChainTerms(audits.rule, audits.budget, audits.changed, environment.observer)
    chain = Chain(spec.name, networks, terms, objects)
    audits.shortcuts.add(chain)
    return SceneLooks(chain, objects) if isinstance(objects, Scenes) else chain


def _objects(spec: RecogniseNode, recogniser: Recogniser, environment: Environment) -> Objects:
    """The objects that a node answers for: tracked ones, or the scenes that whole frames show."""
    path = way_to(environment.nodes.get(spec.name), environment.nodes)
    first = path[-1].spec if path else spec
    whole = isinstance(first, RecogniseNode) and takes_frame(first)
    paid = bool(spec.endpoints)
    if whole:
        return Scenes(recogniser, environment.pictures, PAID_SCENE_RULE if paid else SCENE_RULE)
    return Objects(recogniser, PAID_LOOK_RULE if paid else LOOK_RULE)


def _finder(spec: RecogniseNode, environment: Environment) -> PortraitFinder:
    """The query's own way to the objects of a node: the detector that makes them, and the filters behind it."""
    path = way_to(environment.nodes.get(spec.name), environment.nodes)
    first = path[-1].spec if path else None
    if not isinstance(first, DetectNode) or first.model[0] == MOTION:
        return WholePicture()
    found = detector(first.model_copy(update={"input": None}), environment.engine)
    return DetectedObject(found, first.model[0], partial(passes, path[:-1]))
