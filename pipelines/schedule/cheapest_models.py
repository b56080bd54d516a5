"""Sessions that one of several models may serve: the mix that costs least, by the integer programme of autoscaling.

Romero et al., 2021, §4.2.1 choose among instances. Here they are whole machines, or parts of them: a session is served
in rounds that it shares with others. Both are tried, and what costs least once it is placed is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.schedule.epochs import UNBOUNDED_BYTES
from serving.autoscale.exact import solve
from serving.autoscale.programme import programme
from serving.autoscale.state import Application, MachineKind, ScalableVariant, ServingState
from serving.autoscale.terms import AutoscaleTerms
from serving.placement.curves import BatchCurve
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.place import place

PARTS = (1, 16)
"""Instances that fill a machine."""
TERMS = AutoscaleTerms(slack=1.0, late=1.0, solve_s=5.0)
"""A placement keeps SLOs by proof, without slack; a load that is placed is even."""
DEVICE = "device"

Profiles = Mapping[str, Mapping[str, BatchProfile]]
"""By model and kind of machine."""


def cheapest_models(
    demands: Sequence[Demand], instead: Sequence[Sequence[str]], profiles: Profiles, kinds: Sequence[MachineKind]
) -> list[Demand]:
    """The same load, of the models that serve it for least; ``instead``: for each demand, others that may answer.

    A demand that nobody can serve stays as it is.
    """
    known = [DeviceKind(each.name, UNBOUNDED_BYTES, each.price_per_s or 1e-9, each.at_most) for each in kinds]
    price = {each.name: each.price_per_s for each in kinds}

    def cost(mix: Sequence[Demand]) -> tuple[float, float]:
        """Items per second that all machines do not serve, and the price of those that are wanted."""
        wanted = place(mix, profiles, Fleet(known)).wanted
        there = [FleetBackend(f"{kind}-{number}", kind) for kind, count in wanted.items() for number in range(count)]
        shed = place(mix, profiles, Fleet(known, there)).shed
        return round(sum(each.items_per_s for each in shed), 6), sum(price[kind] * n for kind, n in wanted.items())

    mixes = [list(demands), *(_mix(demands, instead, profiles, kinds, parts) for parts in PARTS)]
    return min(mixes, key=cost)


def _mix(
    demands: Sequence[Demand],
    instead: Sequence[Sequence[str]],
    profiles: Profiles,
    kinds: Sequence[MachineKind],
    parts: int,
) -> list[Demand]:
    applications = [
        Application(str(number), each.items_per_s, each.slo_s, priority=each.priority)
        for number, each in enumerate(demands)
    ]
    variants = [
        variant
        for number, (each, others) in enumerate(zip(demands, instead, strict=True))
        for model in dict.fromkeys((each.model, *others))
        for variant in _variants((str(number), model), each.slo_s, profiles.get(model, {}), parts)
    ]
    whole = [MachineKind(each.name, each.price_per_s, {DEVICE: 1.0}, each.at_most) for each in kinds]
    seen = ServingState(whole, (), variants, (), applications)
    loads = {each.name: each.items_per_s for each in applications}
    counts = solve(programme(seen, loads, {each.name: each.at_most for each in whole}, TERMS), TERMS.solve_s).counts
    served = Counter[tuple[int, str]]()
    for key, count in counts.items():
        served[int(key[0]), key[1]] += count * seen.usable[key].items_per_s  # type: ignore[assignment]
    return [part for number, each in enumerate(demands) for part in _parts(number, each, served)]


def _variants(
    of: tuple[str, str], slo_s: float, profile: Mapping[str, BatchProfile], parts: int
) -> Iterator[ScalableVariant]:
    application, model = of
    for kind, times in profile.items():
        batch, rate = BatchCurve(times).saturated(slo_s)
        if batch:
            needs = {DEVICE: 1 / parts}
            yield ScalableVariant(model, application, kind, rate / parts, batch / rate, 0.0, 1.0, needs)


def _parts(number: int, demand: Demand, served: Mapping[tuple[int, str], float]) -> Iterator[Demand]:
    """A demand for each model that is to serve a part of it, in proportion to what it could."""
    mine = {model: rate for (of, model), rate in served.items() if of == number and rate}
    if not mine:
        yield demand
    for model, rate in mine.items():
        yield replace(demand, model=model, items_per_s=demand.items_per_s * rate / sum(mine.values()))
