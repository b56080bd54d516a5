"""A timeline brought into the shape of a picture. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import Final, Literal, NamedTuple

from specialization.timeline_state import AnswerCounts, PhaseSpan, Slice, TimelineState

COLUMNS = 90
"""Steps of a share over time, at most."""
ROWS = 20
"""Classes that are drawn, those that dominate longest."""
Who = Literal["oracle", "fallback", "head", "reused"]
SOURCES: Final[tuple[Who, ...]] = ("oracle", "fallback", "head", "reused")


class AnswerShares(NamedTuple):
    """Who gave the answers, over time."""

    edges_s: list[float]
    """One more than values."""
    of: dict[Who, list[float]]
    """Shares of the answers within two edges, 0…1; NaN where there were none."""


class Bounds(NamedTuple):
    """The interval of the agreement over time: from its time on, until the next."""

    at_s: list[float]
    low: list[float]
    high: list[float]


def shares(state: TimelineState) -> AnswerShares:
    """At most ``COLUMNS`` steps, each of whole slices; together from the first answer to the last."""
    if not state.slices:
        return AnswerShares([0.0, 1.0], {who: [float("nan")] for who in SOURCES})
    first_s = state.slices[0].from_s
    slices = round((state.slices[-1].from_s - first_s) / state.slice_s) + 1
    width_s = state.slice_s * ceil(slices / COLUMNS)
    columns = [AnswerCounts() for _ in range(ceil(slices * state.slice_s / width_s))]
    for each in state.slices:
        columns[int((each.from_s - first_s) // width_s)].add(each.counts)
    edges_s = [first_s + number * width_s for number in range(len(columns) + 1)]
    return AnswerShares(edges_s, {who: [_share(column, who) for column in columns] for who in SOURCES})


def agreement(slices: Sequence[Slice]) -> Bounds:
    """The agreement that the audits had found at the end of each slice."""
    known = [(each.from_s, *each.agreement) for each in slices if each.agreement]
    return Bounds([at_s for at_s, _, _ in known], [low for _, low, _ in known], [high for _, _, high in known])


def rows(spans: Sequence[PhaseSpan]) -> dict[str, list[tuple[float, float]]]:
    """Class → when it was dominant, as (start, length) in seconds; in the order of their first time."""
    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for span in spans:
        for label in span.classes:
            found[label].append((span.from_s, span.to_s - span.from_s))
    longest = sorted(found, key=lambda label: -sum(length for _, length in found[label]))[:ROWS]
    return {label: times for label, times in found.items() if label in longest}


def _share(counts: AnswerCounts, who: Who) -> float:
    given: int = getattr(counts, who)
    return given / counts.answers if counts.answers else float("nan")
