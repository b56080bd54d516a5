"""Sessions that one of several models may serve: the mix that costs least, by the integer programme of autoscaling.

Romero et al., 2021, §4.2.1 choose among instances. Here they are whole machines, or parts of them: a session is served
in rounds that it shares with others. Both are tried, and what costs least once it is placed is taken. From epoch to
epoch the mix stays, unless another one serves more on the backends that are there, or costs clearly less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from serving.autoscale.cheapest import Candidate, Programme
from serving.autoscale.machines import CLEARLY, AutoscaleTerms
from serving.placement.curves import BatchCurve
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.place import place
from serving.placement.plan import FleetPlan, ShedLoad
from serving.placement.prefixes import Prefixes, grouped

PARTS = (1, 16)
"""Instances that fill a machine."""
TERMS = AutoscaleTerms()
AT_MOST = 16
"""Machines of a kind of which nobody says how many may be had."""
MOST_SESSIONS = 200
"""Where there are more, models stay as they are: each mix takes a plan of its own."""
MORE = 0.01
"""A mix serves more than another where so much less is left, as a share of all that is asked for."""

Profiles = Mapping[str, Mapping[str, BatchProfile]]
"""By model and kind of machine."""


@dataclass(frozen=True)
class ModelChoices:
    """Sessions, for each the models that may answer in its model's place, and what they may run on."""

    demands: Sequence[Demand]
    instead: Sequence[Sequence[str]]
    profiles: Profiles
    fleet: Fleet
    prefixes: Prefixes = field(default_factory=dict)

    def mixes(self, machines: Mapping[str, int]) -> Iterator[list[Demand]]:
        """Those of the programme with so many machines by kind."""
        for parts in PARTS:
            yield self._mix(machines, parts)

    def as_before(self, before: FleetPlan) -> list[Demand]:
        """The sessions by the models that a plan gives them; a demand that it does not serve stays as it is."""
        served, anyhow = Counter[tuple[str, int, float]](), Counter[tuple[str, int]]()
        for share in (share for backend in before.backends for share in backend.sessions):
            for model, rate in share.models.items():
                served[model, share.priority, share.slo_s] += rate  # type: ignore[assignment]
                anyhow[model, share.priority] += rate  # type: ignore[assignment]
        found: list[Demand] = []
        for each, others in zip(self.demands, self.instead, strict=True):
            models = dict.fromkeys((each.model, *others)) if others else ()
            own = {model: served[model, each.priority, each.slo_s] for model in models}
            found += _shared(each, own if any(own.values()) else {m: anyhow[m, each.priority] for m in models})
        return found

    def _mix(self, machines: Mapping[str, int], parts: int) -> list[Demand]:
        kinds = self.fleet.kinds
        place = {kind.name: number for number, kind in enumerate(kinds)}
        found = [
            (model, Candidate(number, place[kind], rate / parts))
            for number, (each, others) in enumerate(zip(self.demands, self.instead, strict=True))
            for model in dict.fromkeys((each.model, *others))
            for kind, times in self.profiles.get(model, {}).items()
            if kind in place and (rate := BatchCurve(times).saturated(each.slo_s)[1])
        ]
        programme = Programme(
            [candidate for _, candidate in found],
            [each.items_per_s for each in self.demands],
            [_weighed(1, each.priority) for each in self.demands],
            [kind.price / parts for kind in kinds],
            [parts * machines.get(kind.name, 0) for kind in kinds],
        )
        rates: list[Counter[str]] = [Counter() for _ in self.demands]
        for (model, candidate), count in zip(found, programme.cheapest(TERMS.solve_s), strict=True):
            rates[candidate.load][model] += count * candidate.items_per_s  # type: ignore[assignment]
        return [part for each, mine in zip(self.demands, rates, strict=True) for part in _shared(each, mine)]


@dataclass(frozen=True)
class _Mix:
    """A mix of models, and the plans for it."""

    demands: Sequence[Demand]
    choices: ModelChoices
    before: FleetPlan | None

    @cached_property
    def plan(self) -> FleetPlan:
        """On the backends that are there."""
        return self._placed(self.choices.fleet, self.before)

    @cached_property
    def wanted(self) -> Mapping[str, int]:
        """Backends by kind, if all were started anew."""
        return self._placed(Fleet(self.choices.fleet.kinds)).wanted

    @cached_property
    def never_served(self) -> float:
        """The weight of what all backends that may be had do not serve."""
        there = [
            FleetBackend(f"{kind}-{number}", kind) for kind, count in self.wanted.items() for number in range(count)
        ]
        return _weight(self._placed(Fleet(self.choices.fleet.kinds, there)).shed)

    def _placed(self, fleet: Fleet, before: FleetPlan | None = None) -> FleetPlan:
        return place(*grouped(self.demands, self.choices.profiles, self.choices.prefixes), fleet, before)

    @property
    def price(self) -> float:
        prices = {kind.name: kind.price for kind in self.choices.fleet.kinds}
        return sum(prices[kind] * count for kind, count in self.wanted.items())

    @property
    def cost(self) -> tuple[float, float]:
        return round(self.never_served, 6), self.price

    @property
    def cost_here(self) -> tuple[float, float]:
        """With the backends that are there."""
        return round(_weight(self.plan.shed), 6), self.price


def cheapest_models(choices: ModelChoices) -> list[Demand]:
    """The same load, of the models that serve it for least on all that may be had."""
    mixes = [choices.demands, *choices.mixes(_most(choices.fleet.kinds))]
    return list(min((_Mix(each, choices, None) for each in mixes), key=lambda mix: mix.cost).demands)


def placed_for_least(choices: ModelChoices, before: FleetPlan | None, may_save: bool) -> FleetPlan:
    """The plan of an epoch, and which models serve in it; ``may_save``: another mix may be taken to save cost.

    Where backends that are not there would serve more, or clearly cheaper, by other models, those are wanted too.
    """
    stay = _Mix(choices.as_before(before or FleetPlan()), choices, before)
    if len(choices.demands) > MOST_SESSIONS or not any(choices.instead):
        return stay.plan
    there = Counter(backend.kind for backend in choices.fleet.backends)
    found = [*choices.mixes(there), *choices.mixes(_most(choices.fleet.kinds))]
    others = [_Mix(each, choices, before) for each in found if each != stay.demands]
    weight = MORE * sum(_weighed(each.items_per_s, each.priority) for each in choices.demands)
    here = min([stay, *others], key=lambda mix: mix.cost_here)
    (left, price), (left_before, price_before) = here.cost_here, stay.cost_here
    saves = may_save and left <= left_before and price < CLEARLY * price_before
    taken = here if left < left_before - weight or saves else stay
    ideal = min([taken, *others], key=lambda mix: mix.cost)
    wanted = Counter(taken.plan.wanted)
    if ideal.never_served < taken.never_served - weight or ideal.price < CLEARLY * taken.price:
        wanted |= Counter(ideal.wanted)
    return replace(taken.plan, wanted=dict(wanted))


def _most(kinds: Sequence[DeviceKind]) -> dict[str, int]:
    return {each.name: AT_MOST if each.most is None else each.most for each in kinds}


def _weighed(items_per_s: float, priority: int) -> float:
    return items_per_s * 2.0 ** max(min(priority, 20), -20)


def _weight(shed: Iterable[ShedLoad]) -> float:
    return sum(_weighed(each.items_per_s, each.priority) for each in shed)


def _shared(demand: Demand, rates: Mapping[str, float]) -> Iterator[Demand]:
    """A demand for each model that is to serve a part of it, in proportion to its rate."""
    mine = {model: rate for model, rate in rates.items() if rate}
    if not mine:
        yield demand
    for model, rate in mine.items():
        yield replace(demand, model=model, items_per_s=demand.items_per_s * rate / sum(mine.values()))
