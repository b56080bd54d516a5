"""One decision: instances by the integer programme, their places, and the machines that this takes. Pure.

Loads rise at once and fall late (``held.py``). What the machines there are do not hold is planned again for as many as
may be had, which says what more is wanted; until they come, as much is served as there is room for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil

from benchmarks.autoscale_parts.actions import Floor, changes, machines_of, mitigations
from benchmarks.autoscale_parts.decision import AutoscaleMemory, ScalingAction, ScalingDecision, Shortfall
from benchmarks.autoscale_parts.exact import solve
from benchmarks.autoscale_parts.headroom import usable_rate
from benchmarks.autoscale_parts.held import HeldLoad
from benchmarks.autoscale_parts.programme import ROUNDING, Solution, programme
from benchmarks.autoscale_parts.state import Key, ServingState
from benchmarks.autoscale_parts.terms import WholeTerms
from benchmarks.autoscale_parts.wanted import wanted_machines
from serving.autoscale.machines import CLEARLY

FIRST_MEMORY, USUAL = AutoscaleMemory(), WholeTerms()


def autoscale(
    now_s: float, seen: ServingState, before: AutoscaleMemory = FIRST_MEMORY, terms: WholeTerms = USUAL
) -> ScalingDecision:
    """``now_s``: monotonic; ``before``: the memory of the decision before this one."""
    seen = usable(seen, terms.late)
    held = dict(_held(now_s, seen, before, terms))
    loads = {name: each.items_per_s for name, each in held.items()}
    there = {kind: len(machines) for kind, machines in machines_of(seen).items()}
    found = _solved(seen, loads, there, terms)
    floor = Floor(seen)
    actions = changes(floor, found.counts, loads)
    moves = tuple(mitigations(floor))
    since = {name: before.empty_since_s.get(name, now_s) for name in floor.empty()}
    released = Counter(floor.machine[name].kind for name, each in since.items() if now_s - each >= terms.release_s)
    more = _without_room(seen, actions)
    for kind, count in _elsewhere(seen, loads, found, terms).items():
        more[kind] = max(more[kind], count - there[kind])
    return ScalingDecision(
        actions,
        moves,
        wanted_machines(seen, more, released, terms),
        tuple(_shortfalls(seen, found.short, loads)),
        found.by,
        AutoscaleMemory(held, since),
    )


def _held(
    now_s: float, seen: ServingState, before: AutoscaleMemory, terms: WholeTerms
) -> Iterator[tuple[str, HeldLoad]]:
    """The loads to plan for, by application."""
    slowest_s: dict[str, float] = {}
    for _, variant in seen.running:
        slowest_s[variant.application] = max(slowest_s.get(variant.application, 0.0), variant.load_s)
    for each in seen.applications:
        known = before.loads.get(each.name, HeldLoad())
        yield each.name, known.then(each.items_per_s, now_s, slowest_s.get(each.name, 0.0))


def _solved(seen: ServingState, loads: Mapping[str, float], machines: Mapping[str, int], terms: WholeTerms) -> Solution:
    asked = {name: terms.slack * load for name, load in loads.items()}
    return solve(programme(seen, asked, machines, terms), terms.solve_s)


def usable(seen: ServingState, late: float) -> ServingState:
    """The same with the rates that variants have where few of the requests that come at random may be late."""
    known = {each.name: each for each in seen.applications}
    variants = [
        replace(each, items_per_s=usable_rate(each.items_per_s, spare_s, known[each.application].items_per_s, late))
        if each.application in known and (spare_s := known[each.application].slo_s - each.latency_s) >= 0
        else each
        for each in seen.variants
    ]
    return replace(seen, variants=variants)


def _elsewhere(seen: ServingState, loads: Mapping[str, float], found: Solution, terms: WholeTerms) -> Mapping[str, int]:
    """Machines by kind, of all that may be had, where those that there are serve too little or cost clearly more."""
    best = _solved(seen, loads, {kind.name: kind.at_most for kind in seen.kinds}, terms)
    machines = _needed(seen, best.counts)
    if found.short or _price(seen, machines) < CLEARLY * _price(seen, _needed(seen, found.counts)):
        return machines
    return {}


def _needed(seen: ServingState, counts: Mapping[Key, int]) -> dict[str, int]:
    """Machines by kind that hold so many instances, as far as their resources together say."""
    taken = Counter[tuple[str, str]]()
    for key, count in counts.items():
        for name, need in seen.usable[key].needs.items():
            taken[key[2], name] += count * need  # type: ignore[assignment]
    return {
        kind.name: max(
            (ceil(taken[kind.name, name] / of - ROUNDING) for name, of in kind.resources.items() if of), default=0
        )
        for kind in seen.kinds
    }


def _price(seen: ServingState, machines: Mapping[str, int]) -> float:
    return sum(seen.kind[name].price_per_s * count for name, count in machines.items())


def _without_room(seen: ServingState, actions: tuple[ScalingAction, ...]) -> Counter[str]:
    """Machines by kind for the instances that found none with room for them."""
    lost = Counter(
        (each.application, each.variant, each.kind)
        for each in actions
        if each.what != "unload" and each.machine is None
    )
    return Counter(_needed(seen, lost))


def _shortfalls(seen: ServingState, short: Mapping[str, float], loads: Mapping[str, float]) -> Iterator[Shortfall]:
    for application in seen.applications:
        if (gap := short.get(application.name)) is None:
            continue
        mine = [each for each in seen.usable.values() if each.application == application.name]
        if any(seen.serves(application, each) for each in mine):
            why = "the machines there are have no room for more instances"
        else:
            why = f"no variant has accuracy {application.accuracy:g} within {1000 * application.slo_s:g} ms"
        yield Shortfall(application.name, min(gap, loads[application.name]), why)
