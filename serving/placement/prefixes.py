"""Models whose networks begin alike become one session: a *prefix group* (Shen, 2019, §3.5.2). Pure.

A group takes the place of its models where they are placed: all are loaded where it is served, run what they have in
common as one batch, and take the memory for that once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from serving.placement.demands import BatchProfile, Demand, Profiles
from serving.scheduling.estimates import LatencyTable

Prefixes = Mapping[str, Mapping[str, float]]
"""By model: digests of what its network computes first, shortest first, with the share of its work up to there."""


def grouped(demands: Sequence[Demand], profiles: Profiles, prefixes: Prefixes) -> tuple[list[Demand], Profiles]:
    """The demands with the groups of their models, and the profiles with those of these groups.

    Models are of one group where their shortest prefixes are the same. A group runs where all of its models can.
    """
    members: defaultdict[str, set[str]] = defaultdict(set)
    for each in demands:
        if each.items_per_s > 0 and prefixes.get(each.model):
            members[next(iter(prefixes[each.model]))].add(each.model)
    group: dict[str, str] = {}
    known = dict(profiles)
    for models in (sorted(found) for found in members.values() if len(found) > 1):
        found = _profiles([profiles.get(model, {}) for model in models], [prefixes[model] for model in models])
        if found:
            known[" + ".join(models)] = found
            group |= dict.fromkeys(models, " + ".join(models))
    return [replace(each, prefix=group.get(each.model)) for each in demands], known


def _profiles(
    members: Sequence[Mapping[str, BatchProfile]], prefixes: Sequence[Mapping[str, float]]
) -> dict[str, BatchProfile]:
    """Those of a group, by kind of device."""
    first, *others = prefixes
    common = max(min(each[digest] for each in prefixes) for digest in first if all(digest in each for each in others))
    kinds = [kind for kind in members[0] if all(kind in each for each in members)]
    return {kind: prefix_profile([each[kind] for each in members], 1 - common) for kind in kinds}


def prefix_profile(members: Sequence[BatchProfile], suffix: float) -> BatchProfile:
    """The profile of models that share all but a part ``suffix``, 0 to 1, of their work, as one (Shen, 2019, §3.5.2).

    The common part runs once for the whole batch and counts as the slowest member's, then each member's own part for
    its share of the batch, one after the other.

    >>> ten = prefix_profile([BatchProfile({1: 0.010, 10: 0.028}, 100)] * 10, suffix=0.05)
    >>> {batch: round(seconds, 4) for batch, seconds in ten.latency_s.items()}, ten.memory_bytes
    ({1: 0.01, 10: 0.0316}, 145)
    """
    tables = [LatencyTable(each.latency_s) for each in members]
    sizes = sorted({size for each in members for size in each.latency_s})
    memory = max(each.memory_bytes for each in members)
    own_memory = suffix * sum(each.memory_bytes for each in members)

    def seconds(batch: int) -> float:
        slowest = max(table(batch) for table in tables)
        asked = min(batch, len(members))
        own = sorted((table(ceil(batch / asked)) for table in tables), reverse=True)
        return (1 - suffix) * slowest + suffix * sum(own[:asked])

    return BatchProfile({size: seconds(size) for size in sizes}, round((1 - suffix) * memory + own_memory))
