"""Opens the networks of a query as a run does, and shows each node a grey picture: what would fail there fails here."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from operators.audits.roles import Roles
from operators.base import Call, Operator, make_ready
from operators.decision import Decision
from operators.frames.frame import WHOLE, Region, frame_of
from operators.recognise.gallery_check import Progress, checked
from operators.wire.result import MOVING
from operators.wire.schema import FrameId
from pipelines.assembly.engine import engine_of
from pipelines.assembly.environment import Environment
from pipelines.assembly.node import node
from pipelines.assembly.recognise import gallery_recogniser
from pipelines.query.dag import CompiledQuery
from pipelines.query.nodes import MOTION, NodeSpec, RecogniseNode
from serving.common.explain import first_line
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency

SIZE = (360, 640, 3)
GREY = 114


@dataclass
class NodeTrial:
    """The faults that were found when a node was tried."""

    models: dict[str, str] = field(default_factory=dict)
    """Why models cannot be used: the node's, and its oracle if it does not list that."""
    gallery: Sequence[str] = ()
    """Pictures of a gallery that are of no use, one line each."""
    doubts: Sequence[str] = ()
    """May be right but is worth a look, one line each."""


async def tried(wanted: CompiledQuery, told: Progress) -> dict[str, NodeTrial]:
    """Each node's trial, by its name; raises BadInput for settings that no network can be opened with."""
    nodes = wanted.dag.nodes
    engine, found = engine_of(wanted), dict[str, NodeTrial]()
    environment = Environment(engine, nodes={each.name: each for each in nodes}, query=wanted.query.name)
    await engine.start()
    try:
        for place, each in enumerate(nodes):
            if each.gallery is not None and any(trial.models for trial in found.values()):
                continue  # its pictures go the way of frames
            found[each.name] = await _tried(each.spec, environment, partial(_told, told, place, len(nodes)))
    finally:
        await engine.stop()
    return found


def _told(told: Progress, place: int, nodes: int, step: str, share: float) -> None:
    told(step, (place + share) / nodes)


async def _tried(spec: NodeSpec, environment: Environment, told: Progress) -> NodeTrial:
    trial, engine = NodeTrial(), environment.engine
    told(spec.name, 0.0)
    models = () if spec.models == (MOTION,) else Roles.of(spec.models, engine.card).models if spec.models else ()
    for model in models:
        await _noted(trial, model, engine.load(model))
    if trial.models:
        return trial
    if isinstance(spec, RecogniseNode) and spec.gallery is not None:
        recogniser = gallery_recogniser(spec, spec.gallery, environment)
        operator: Operator = recogniser
        report = await checked(recogniser, models[0], told)
        trial.gallery, trial.doubts = report.faults, report.doubts
    else:
        operator = node(spec, environment)
        await _made_ready(trial, models, operator)
    for model in models if not trial.gallery and not trial.models else ():
        await _noted(trial, model, _shown(operator, model))
    return trial


async def _made_ready(trial: NodeTrial, models: Sequence[str], operator: Operator) -> None:
    """Note what a run would refuse before its first frame, with the model that the error names."""
    try:
        await make_ready(operator)
    except SluiceError as error:
        blamed = [model for model in models if repr(model) in str(error)]
        trial.models[(*blamed, *models, "")[0]] = str(error)


async def _shown(operator: Operator, model: str) -> None:
    """Show a model a grey frame with one object that fills it."""
    frame = frame_of(FrameId("trial", "check", 0), np.full(SIZE, GREY, np.uint8))
    region = Region(0, "trial", WHOLE, MOVING, 1.0, class_agnostic=True)
    await operator.process(frame, [region], Call(Decision(model), Urgency(math.inf)))


async def _noted(trial: NodeTrial, model: str, work: Awaitable[object]) -> None:
    try:
        await work
    except SluiceError as error:
        trial.models[model] = str(error)
    except Exception as error:  # an operator may raise anything, and every frame would fail by it
        trial.models[model] = f"{type(error).__name__}: {first_line(error)}"
