"""The outcome of a placement, as plain data. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal["capacity", "slo", "memory", "profile"]
"""Too few backends; or no kind of device is fast enough, or large enough, or there is no profile for any."""


@dataclass(frozen=True, slots=True)
class SessionShare:
    """The part of a session that a backend serves."""

    model: str
    """Or the prefix group."""
    slo_s: float
    priority: int
    items_per_s: float
    batch: int
    """The most items of one turn; sessions that differ in priority alone share a batch."""
    models: Mapping[str, float]
    """To load: the model, or those of the group that are asked for, with the items a second of each."""


@dataclass(frozen=True, slots=True)
class BackendShare:
    """A backend and all that it serves, in turn."""

    name: str
    kind: str
    duty_cycle_s: float
    sessions: tuple[SessionShare, ...]


@dataclass(frozen=True, slots=True)
class ShedLoad:
    """The part of a session that no backend serves."""

    model: str
    slo_s: float
    priority: int
    items_per_s: float
    cause: Cause
    reason: str
    """One line for people."""


@dataclass(frozen=True, slots=True)
class Move:
    """A model that a backend has to load, or may unload, to go from one plan to the next."""

    backend: str
    model: str
    loads: bool


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Who serves what in an epoch."""

    backends: Sequence[BackendShare] = ()
    """Those that serve something; others of the fleet are idle."""
    wanted: Mapping[str, int] = field(default_factory=dict)
    """Backends by kind, never fewer than serve something."""
    shed: Sequence[ShedLoad] = ()
    moves: Sequence[Move] = ()


def moves_between(before: FleetPlan, after: Sequence[BackendShare]) -> tuple[Move, ...]:
    """Loads first: a model is ready elsewhere before a backend lets go of it."""
    old, new = _models(before.backends), _models(after)
    return (
        *(Move(backend, model, loads=True) for backend, model in sorted(new - old)),
        *(Move(backend, model, loads=False) for backend, model in sorted(old - new)),
    )


def _models(backends: Sequence[BackendShare]) -> set[tuple[str, str]]:
    return {(each.name, model) for each in backends for share in each.sessions for model in share.models}
