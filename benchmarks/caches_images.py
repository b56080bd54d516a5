"""Learned caches inside two networks, against int8 and a smaller network before the large one (GATI, §7.1).

ResNet-18 on the CIFAR-10 test images and the shipped ``vehicle-type`` on photos, neither of which was trained on them.
Caches are explored, composed and certified on one part, everything is measured on the other: agreement with fp32 in
batches, processor time of single items on one thread, by turns in random order. Targets are the share of all images
that must get the network's answer, as in the paper. Ways to run a network:

- ``whole``, ``int8``: without caches
- ``learnt``: fp32 with exits at two cuts at most, made as ``sluice learn`` makes them
- ``caches``: fp32 with caches, explored and composed as in the paper
- ``int8 with caches``: int8 with caches, certified for what int8's own disagreement leaves of the target
- ``small first``: ResNet-20 answers where its largest probability exceeds a threshold certified by the same rule
- ``small first, caches``: the same with caches in both networks, all thresholds tuned and certified together

``composition_runs`` is what composition chooses among all but the last two and ``learnt``, from its own estimates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import mean, quantiles
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.caches_images_parts.cascades import Part, cascade
from benchmarks.caches_images_parts.cases import Case, cases
from benchmarks.caches_images_parts.learnt import learnt_exits
from benchmarks.caches_images_parts.plot import draw
from benchmarks.caches_images_parts.ways import Base, Runs, answers, bases, before, turns
from benchmarks.caches_parts.cache_exit import CacheExit
from benchmarks.caches_parts.forms import EXPLORED
from benchmarks.composition_parts.rivals import planned
from benchmarks.harness import Outcome, Row, run
from cache_adapt.learned.learned_exit import LearnedExit

TARGETS = (0.97, 0.99)
ALONE: Mapping[str, str] = {"fp32": "whole", "int8": "int8"}
LEARNT = "learnt"
CACHED: Mapping[str, str] = {"fp32": "caches", "int8": "int8 with caches"}
FORMS: Mapping[str, Sequence[str]] = {"fp32": EXPLORED, "int8": ("FC(64)", "Pool(512)")}
"""What is explored at every cut point; in int8 only what is looked up fastest."""
QUICK_FORMS = ("FC(64)",)
TIMED = 400
QUICK, QUICK_TIMED = 300, 20

Way = tuple[str, float]
"""How the network is run, and the target."""


@dataclass(frozen=True)
class Opened:
    """A network in every way."""

    ways: Mapping[Way, Runs]
    caches: Mapping[Way, Sequence[LearnedExit]]
    plans: Mapping[float, str]
    """By target, what composition would run."""


def measure(quick: bool) -> Outcome:
    """A row for each network, way and target."""
    with threadpool_limits(1, user_api="blas"):  # as in a worker
        chosen = islice(cases(QUICK), 1) if quick else cases(None)
        rows = [row for case in chosen for row in _rows(case, quick)]
    return Outcome(rows, headline(rows), partial(draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By network, way and target: how many times as fast as the whole, and the agreement; what composition runs."""
    found: dict[str, Any] = {}
    for row in rows:
        mine = found.setdefault(row["network"], {})
        key = row["way"] if row["target"] == 1 else f"{row['way']} {100 * row['target']:g}"
        mine[key] = (row["speedup"], row["agreement"])
        if row["composition_runs"]:
            mine[f"composition {100 * row['target']:g}"] = row["composition_runs"]
    return found


def _rows(case: Case, quick: bool) -> Iterator[Row]:
    _say(f"{case.name}: taps of {len(case.learnt)} pictures")
    made = _opened(case, quick)
    _say(f"{case.name}: {len(made.ways)} ways on {len(case.unseen)} pictures")
    seconds = turns(
        {way: network.run for way, network in made.ways.items()}, case.unseen[: QUICK_TIMED if quick else TIMED]
    )
    whole, _ = answers(made.ways["whole", 1.0], case.unseen)
    for way, network in made.ways.items():
        found, early = (whole, 0.0) if way == ("whole", 1.0) else answers(network, case.unseen)
        counted = {"items": len(whole), "agreement": round(float((found == whole).mean()), 4)}
        _say(f"{case.name}: {way} agrees in {counted['agreement']}")
        row = {"network": case.name, "way": way[0], "target": way[1], **counted, "answered_early": round(early, 4)}
        yield {**row, **_made(way, made), **_times(seconds, way)}


def _opened(case: Case, quick: bool) -> Opened:
    both = bases(case)
    small = None if case.small is None else before(both[0])
    ways: dict[Way, Runs] = {(ALONE[base.precision], 1.0): base.opened for base in both}
    caches: dict[Way, Sequence[LearnedExit]] = {}
    plans = {}
    for target in TARGETS:
        parts: dict[str, Part] = {base.precision: _part(base, target, quick) for base in both}
        for precision, part in parts.items():
            if part.built is not None:
                caches[CACHED[precision], target] = part.built.exits
                ways[CACHED[precision], target] = part.opened()
        exits = learnt_exits(both[0], target)
        if exits is not None:
            caches[LEARNT, target], ways[LEARNT, target] = exits.exits, both[0].with_caches(exits.exits)
        plans[target] = _planned(parts, target, quick)
        if small is not None:
            ways |= _cascades(small, parts["fp32"], target, quick)
    return Opened(ways, caches, plans)


def _part(base: Base, target: float, quick: bool) -> Part:
    wanted = base.wanted(target, _forms(base, quick))
    explored = base.explored(wanted)
    _say(f"{base.case.name}, {target:g}: caches for {base.name} in {base.precision} explored")
    return Part(base, explored, base.caches(explored, wanted))


def _planned(parts: Mapping[str, Part], target: float, quick: bool) -> str:
    """The way that composition chooses."""
    plan = planned(
        [
            part.base.variant(part.explored, part.base.wanted(target, _forms(part.base, quick)), target)
            for part in parts.values()
        ]
    )
    _say(f"{target:g}: {plan.variant}; {plan.reason}")
    with_caches = plan.choice and parts[plan.variant].built is not None
    return (CACHED if with_caches else ALONE)[plan.variant]


def _cascades(small: Base, large: Part, target: float, quick: bool) -> dict[Way, Runs]:
    wanted = large.base.wanted(target, _forms(large.base, quick))
    return {
        ("small first", target): cascade(Part(small), Part(large.base), wanted),
        ("small first, caches", target): cascade(_part(small, target, quick), large, wanted),
    }


def _forms(base: Base, quick: bool) -> Sequence[str]:
    return QUICK_FORMS if quick else FORMS[base.precision]


def _made(way: Way, made: Opened) -> Row:
    explored = [cache for cache in made.caches.get(way, ()) if isinstance(cache, CacheExit)]
    return {
        "caches": " ".join(cache.predictor.name for cache in explored),
        "selectors": sum(cache.selector is not None for cache in explored) if explored else "",
        "caches_mb": round(sum(cache.memory_bytes for cache in explored) / 1e6, 3) if explored else "",
        "composition_runs": made.plans.get(way[1], ""),
    }


def _times(seconds: Mapping[Way, Sequence[float]], way: Way) -> Row:
    mine, whole = seconds[way], seconds["whole", 1.0]
    tail = quantiles(mine, n=100)
    return {
        "timed": len(mine),
        "processor_ms": round(1e3 * mean(mine), 3),
        "p50_ms": round(1e3 * tail[49], 3),
        "p95_ms": round(1e3 * tail[94], 3),
        "speedup": round(mean(whole) / mean(mine), 3),
    }


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run("caches_images", measure, __doc__ or "")
