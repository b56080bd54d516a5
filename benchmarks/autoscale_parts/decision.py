"""The decisions of the autoscaler: plain data, in the order in which it is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.autoscale_parts.held import HeldLoad
from benchmarks.autoscale_parts.programme import By

What = Literal["load", "replicate", "upgrade", "downgrade", "unload"]


@dataclass(frozen=True, slots=True)
class ScalingAction:
    """One instance more or less."""

    what: What
    application: str
    variant: str
    kind: str
    machine: str | None
    """None: there is no room for it at present, see the wanted machines."""
    why: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Migration:
    """An instance that is to go elsewhere, as others on its machine disturb it."""

    application: str
    variant: str
    source: str
    target: str
    why: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class WantedMachines:
    """How many machines of a kind there should be."""

    kind: str
    machines: int
    why: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Load of an application that the machines there are do not serve."""

    application: str
    items_per_s: float
    why: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class AutoscaleMemory:
    """The past as the next decision has to know it; without it, scaling down starts to wait anew."""

    loads: Mapping[str, HeldLoad] = field(default_factory=dict)
    """By application."""
    empty_since_s: Mapping[str, float] = field(default_factory=dict)
    """By machine."""


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """All that is to be done. An application's loads come before its unloads: what is loaded then replaces those."""

    actions: tuple[ScalingAction, ...]
    moves: tuple[Migration, ...]
    wanted: tuple[WantedMachines, ...]
    short: tuple[Shortfall, ...]
    by: By
    memory: AutoscaleMemory
