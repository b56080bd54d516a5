"""A fleet on paper: sessions, profiles and machines in a file, and the plan for them, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from operators.wire.fleet import LEAST_MS, MOST_INSTEAD
from pipelines.schedule.cheapest_models import ModelChoices, cheapest_models
from pipelines.schedule.epochs import kinds_of, planned_s, told_ms
from pipelines.schedule.machines import Machines, device_kinds, read_strictly
from serving.common.explain import Problem, Strict
from serving.placement.demands import BatchProfile, Demand, Fleet, FleetBackend, Profiles
from serving.placement.place import place
from serving.placement.plan import FleetPlan
from serving.placement.prefixes import Prefixes, grouped

MOST = 1000
Name = Annotated[str, Field(min_length=1, max_length=256)]
Share = Annotated[float, Field(gt=0, le=1)]
Milliseconds = Annotated[float, Field(ge=LEAST_MS, le=3.6e6)]
Measured = Callable[[str], tuple[Mapping[int, float], Mapping[str, float]] | None]
"""Seconds of a model by batch on this machine, and its prefixes; None where nobody has measured it."""


class PaperSession(Strict):
    """Items of a model that have one SLO."""

    model: Name
    slo_ms: Milliseconds
    rate: float = Field(ge=0, le=1e9)
    """Items per second."""
    priority: int = Field(default=0, ge=-1000, le=1000)
    instead: list[Name] = Field(default_factory=list, max_length=MOST_INSTEAD)
    """Models that are as good: those of all that cost least are planned."""


class PaperProfile(Strict):
    """A model on a kind of machine."""

    times_ms: dict[Annotated[int, Field(ge=1, le=65_536)], Milliseconds] = Field(min_length=1, max_length=32)
    memory_mb: float = Field(default=0, ge=0, le=1e7)


class PaperFleet(Strict):
    """The file."""

    sessions: list[PaperSession] = Field(min_length=1, max_length=MOST)
    profiles: dict[Name, dict[Name, PaperProfile]] = Field(default_factory=dict, max_length=MOST)
    prefixes: dict[Name, dict[Name, Share]] = Field(default_factory=dict, max_length=MOST)
    """By model: names for what its network computes first, each with the share of its work up to there."""
    machines: Machines
    backends: dict[Name, Annotated[int, Field(ge=0, le=1000)]] | None = None
    """How many there are of each kind; left out: as many as are wanted."""


@dataclass(frozen=True)
class PaperPlan:
    plan: FleetPlan
    prices: Mapping[str, float]
    """By kind of machine: of an hour."""

    @property
    def price(self) -> float:
        """The price of an hour of all that is wanted."""
        return sum(count * self.prices[kind] for kind, count in self.plan.wanted.items())

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "backends": [asdict(each) for each in self.plan.backends],
            "wanted": dict(self.plan.wanted),
            "price_per_hour": round(self.price, 4),
            "shed": [asdict(each) for each in self.plan.shed],
        }

    def __str__(self) -> str:
        lines = []
        for backend in self.plan.backends:
            lines.append(f"{backend.name}: a round of {backend.duty_cycle_s * 1000:.1f} ms")
            lines += [
                f"  {each.model} within {told_ms(each.slo_s):g} ms: {each.items_per_s:.1f}/s in batches of {each.batch}"
                for each in backend.sessions
            ]
        wanted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.plan.wanted.items()) if count)
        lines.append(f"wanted: {wanted or 'none'}, {self.price:.2f} an hour")
        lines += [f"not served: {each.model}, {each.items_per_s:.1f}/s: {each.reason}" for each in self.plan.shed]
        if unknown := next((each.model for each in self.plan.shed if each.cause == "profile"), None):
            lines.append(f"give times in profiles, or measure them here: sluice models profile {unknown}")
        return "\n".join(lines)


def simulated(path: Path, measured: Measured) -> PaperPlan:
    """The plan for the fleet of a file; raises BadInput with a line for each thing that is wrong.

    ``measured``: models without a profile in the file have the times of this machine, on all kinds.
    """
    fleet = read_strictly(path, PaperFleet, _unknown)
    kinds = device_kinds(fleet.machines)
    demands = [Demand(each.model, planned_s(each.slo_ms), each.rate, each.priority) for each in fleet.sessions]
    profiles, prefixes = _profiles(fleet, measured)
    if any(each.instead for each in fleet.sessions):
        choices = ModelChoices(demands, [each.instead for each in fleet.sessions], profiles, Fleet(kinds), prefixes)
        demands = cheapest_models(choices)
    demands, profiles = grouped(demands, profiles, prefixes)
    counts = fleet.backends if fleet.backends is not None else place(demands, profiles, Fleet(kinds)).wanted
    there = [FleetBackend(f"{kind}-{number + 1}", kind) for kind in counts for number in range(counts[kind])]
    plan = place(demands, profiles, Fleet(kinds_of(kinds, []), there))
    return PaperPlan(plan, {name: line.price_per_hour for name, line in fleet.machines.items()})


def _unknown(fleet: PaperFleet) -> list[Problem]:
    known = ", ".join(fleet.machines)
    places = [(("backends", kind), kind) for kind in fleet.backends or {}]
    places += [(("profiles", model, kind), kind) for model, kinds in fleet.profiles.items() for kind in kinds]  # type: ignore[misc]
    asked = {model for each in fleet.sessions for model in (each.model, *each.instead)}
    return [
        *(Problem(path, f"no kind of machine; known: {known}") for path, kind in places if kind not in fleet.machines),
        *(Problem(("prefixes", model), "no session asks for it") for model in fleet.prefixes if model not in asked),
    ]


def _profiles(fleet: PaperFleet, measured: Measured) -> tuple[Profiles, Prefixes]:
    found: dict[str, Mapping[str, BatchProfile]] = {
        model: {
            kind: BatchProfile({b: ms / 1000 for b, ms in each.times_ms.items()}, round(each.memory_mb * 1e6))
            for kind, each in kinds.items()
        }
        for model, kinds in fleet.profiles.items()
    }
    prefixes: dict[str, Mapping[str, float]] = {}
    for model in {model for each in fleet.sessions for model in (each.model, *each.instead)} - found.keys():
        if (here := measured(model)) is not None:
            found[model] = {kind: BatchProfile(here[0], 0) for kind in fleet.machines}
            prefixes[model] = here[1]
    said = {model: dict(sorted(each.items(), key=lambda part: part[1])) for model, each in fleet.prefixes.items()}
    return found, prefixes | said
