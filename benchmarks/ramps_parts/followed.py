"""Thresholds that follow the stream, and exits that come and go (Dai et al., 2024 [Apparate], §3.2 and §3.3)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.certified import leaves_at
from benchmarks.ramps_parts.places import EVERY, Places, adjusted
from benchmarks.ramps_parts.recorded import latencies
from benchmarks.tuning import Trigger
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import tuned

WINDOW = 512
"""The newest inputs that thresholds are tuned on."""


@dataclass
class Followed:
    """A stream that has been replayed."""

    latency: NDArray[np.float64]
    right: NDArray[np.bool_]
    active: list[int] = field(default_factory=list)
    """How many exits there were, by round."""
    adjust_s: list[float] = field(default_factory=list)
    tune_s: list[float] = field(default_factory=list)


def evenly(places: Places, budget: float) -> tuple[int, ...]:
    """As many exits as the budget allows, at equal distances."""
    for count in range(len(places.until), 0, -1):
        chosen = tuple(int((number + 0.5) * len(places.until) / count) for number in range(count))
        if places.fits(chosen, budget):
            return chosen
    return ()


def follow(stream: Record, places: Places, agreement: float, budget: float, adjusting: bool) -> Followed:
    """Answers leave at exits, inputs run on: what each active exit would have said is known of all that came before."""
    found = Followed(np.zeros(stream.inputs), np.zeros(stream.inputs, bool))
    active, since = evenly(places, budget), 0
    thresholds, trigger = np.zeros(len(active)), Trigger(agreement)
    for at in range(stream.inputs):
        now = _of(stream, places, active, np.array([at]))
        leaves = int(leaves_at(now, thresholds)[0]) if active else 0
        found.latency[at] = now.latency[leaves]
        found.right[at] = leaves == len(active) or now.right[leaves, 0]
        round_over = (at + 1) % EVERY == 0
        if active and (trigger.saw(bool(found.right[at])) or round_over):
            seen = _of(stream, places, active, np.arange(max(since, at + 1 - WINDOW), at + 1))
            thresholds, trigger = _timed(found, seen, agreement), Trigger(agreement)
        if round_over and adjusting:
            began_s = time.process_time()
            after = _adjusted(stream, places, active, thresholds, at, budget)
            found.adjust_s.append(time.process_time() - began_s)
            if after != active:
                kept = dict(zip(active, thresholds, strict=True))
                thresholds = np.array([kept.get(place, 0.0) for place in after])
                if set(after) - set(active):
                    since = at + 1
                active = after
            found.active.append(len(active))
    return found


def _timed(found: Followed, seen: Record, agreement: float) -> Thresholds:
    began_s = time.process_time()
    thresholds = tuned(seen, agreement)
    found.tune_s.append(time.process_time() - began_s)
    return thresholds


def _adjusted(
    stream: Record, places: Places, active: tuple[int, ...], thresholds: Thresholds, at: int, budget: float
) -> tuple[int, ...]:
    """By the answers of the round that is over; where none were left, all begin again."""
    if not active:
        return evenly(places, budget)
    seen = _of(stream, places, active, np.arange(at + 1 - EVERY, at + 1))
    counts = np.bincount(leaves_at(seen, thresholds), minlength=len(active) + 1).tolist()
    left = dict(zip(active, counts[:-1], strict=True))
    return adjusted(places, left, EVERY, budget).active


def _of(stream: Record, places: Places, active: tuple[int, ...], rows: NDArray[np.intp]) -> Record:
    chosen = np.array(active, np.intp)
    errors, right = stream.errors[np.ix_(chosen, rows)], stream.right[np.ix_(chosen, rows)]
    return Record(errors, right, np.array(latencies(places, active)))
