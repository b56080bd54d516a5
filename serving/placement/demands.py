"""The input of a placement: the work that is asked for, what it costs on each kind of device, and the fleet. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from serving.errors import BadInput


@dataclass(frozen=True, slots=True)
class Demand:
    """Items of a model that have one SLO: those of a camera, a worker or a whole query."""

    model: str
    slo_s: float
    """From the arrival at the backend to the answer."""
    items_per_s: float
    priority: int = 0
    """Where backends are too few, the higher is served longer."""
    prefix: str | None = None
    """The group of models that run their common part as one batch."""


@dataclass(frozen=True, slots=True)
class BatchProfile:
    """A model on a kind of device."""

    latency_s: Mapping[int, float]
    """ℓ(b), by batch size; sizes between are interpolated, none beyond is run."""
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """Devices that are all alike, one to a backend."""

    name: str
    memory_bytes: int
    price: float = 1.0
    """A backend costs so much for some time, in any one unit; above 0."""
    most: int | None = None
    """So many backends of it are wanted at most."""


@dataclass(frozen=True, slots=True)
class FleetBackend:
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """The kinds of devices that can be had, and the backends that are there."""

    kinds: Sequence[DeviceKind]
    backends: Sequence[FleetBackend] = ()


Profiles = Mapping[str, Mapping[str, BatchProfile]]
"""By model or prefix group, then by kind of device."""


def check(demands: Sequence[Demand], fleet: Fleet) -> None:
    """Raises BadInput where a number makes no sense, or a backend is of no kind that is given."""
    for each in demands:
        if not (0 < each.slo_s < inf and 0 <= each.items_per_s < inf):
            raise BadInput(f"demand for {each.model}: an SLO above 0 and a rate of 0 or more are needed, not {each}")
    for kind in fleet.kinds:
        if not (isfinite(kind.price) and kind.price > 0 and kind.memory_bytes > 0 and (kind.most or 0) >= 0):
            raise BadInput(f"device kind {kind.name}: memory and price must be above 0, not {kind}")
    known = {kind.name for kind in fleet.kinds}
    for backend in fleet.backends:
        if backend.kind not in known:
            raise BadInput(f"backend {backend.name}: there is no device kind {backend.kind}, only {sorted(known)}")
