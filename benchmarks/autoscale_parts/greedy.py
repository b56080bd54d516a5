"""The heuristic of Romero et al., 2021, §4.2.2: what the programme does, for one application after the other.

Each keeps what runs, or what of it the load still needs, or nothing (an upgrade or downgrade), and covers the rest with
the variants that cost least for each item they add; of the three the cheapest by the programme's own costs is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.autoscale_parts.programme import ROUNDING, Candidate, Pool, Programme, Solution
from benchmarks.autoscale_parts.state import Key


def heuristic(given: Programme) -> Solution:
    """Numbers of instances; a load that the resources do not serve is served as far as they go."""
    counts: dict[Key, int] = {each.key: each.running for each in given.candidates}
    mine: dict[str, list[Candidate]] = {name: [] for name in given.asked}
    for each in given.candidates:
        mine[each.application].append(each)
    for name in sorted(given.asked, key=lambda name: -given.weight[name]):
        asked, candidates = given.asked[name], mine[name]
        running = {each.key: each.running for each in candidates if each.items_per_s}
        tried: list[tuple[float, float, int, dict[Key, int]]] = []
        for kept in (running, _needed(candidates, running, asked), dict[Key, int]()):
            room = _room(given, counts | {each.key: kept.get(each.key, 0) for each in candidates})
            found = _covered(given, candidates, kept, asked, room)
            missing = max(asked - _served(candidates, found), 0.0)
            price = sum(given.price(each, found.get(each.key, 0) - each.running) for each in candidates)
            tried.append((missing if missing > ROUNDING * asked else 0.0, price, len(tried), found))
        counts |= {each.key: min(tried)[3].get(each.key, 0) for each in candidates}
    return Solution(counts, "greedy", given.short(counts))


def _served(candidates: Sequence[Candidate], counts: Mapping[Key, int]) -> float:
    return sum(each.items_per_s * counts.get(each.key, 0) for each in candidates)


def _needed(candidates: Sequence[Candidate], running: Mapping[Key, int], asked: float) -> dict[Key, int]:
    """Without the instances that the load does not need, the dearest first."""
    kept, over = dict(running), _served(candidates, running) - asked
    for each in sorted(candidates, key=lambda each: -each.cost_per_s):
        if each.key in kept:
            gone = min(kept[each.key], max(int(over / each.items_per_s + ROUNDING), 0))
            kept[each.key] -= gone
            over -= gone * each.items_per_s
    return kept


def _room(given: Programme, counts: Mapping[Key, int]) -> dict[Pool, float]:
    room = dict(given.pools)
    for each in given.candidates:
        for pool, need in each.needs.items():
            room[pool] -= need * counts.get(each.key, 0)
    return room


def _covered(
    given: Programme, candidates: Sequence[Candidate], kept: Mapping[Key, int], asked: float, room: dict[Pool, float]
) -> dict[Key, int]:
    """All that is kept, and instances for the rest of the load; ``room`` is used up."""
    counts, missing = dict(kept), asked - _served(candidates, kept)
    while missing > ROUNDING * asked:
        fitting = [each for each in candidates if each.items_per_s and _fit(each, room) > 0]
        if not fitting:
            return counts
        cheapest = min(fitting, key=lambda each: _per_item(given, each, counts, missing))
        more = min(max(int(missing / cheapest.items_per_s + ROUNDING), 1), _fit(cheapest, room))
        counts[cheapest.key] = counts.get(cheapest.key, 0) + more
        missing -= more * cheapest.items_per_s
        for pool, need in cheapest.needs.items():
            room[pool] -= more * need
    return counts


def _per_item(given: Programme, candidate: Candidate, counts: Mapping[Key, int], missing: float) -> float:
    """Cost of one more instance for each item that it adds."""
    more = counts.get(candidate.key, 0) - candidate.running
    cost = given.price(candidate, more + 1) - given.price(candidate, more)
    return cost / min(candidate.items_per_s, missing)


def _fit(candidate: Candidate, room: Mapping[Pool, float]) -> int:
    """Instances for which there is room."""
    return int(min((room[pool] / need + ROUNDING for pool, need in candidate.needs.items()), default=1 << 20))
