"""Tuning the thresholds of exits (Dai et al., 2024 [Apparate], §3.2 and Table 1): time, gap to a grid search, drift.

Scores are simulated: a hard input is hard for all exits, later exits are surer and more often right. ``window``: the
climb and a grid of step 0.025 (0.01 for two exits) tune the same windows of 512 inputs, in turns; processor time. With
eight exits a grid is out of reach. ``gap``: the share of the grid's savings that the climb misses; below 0 where it
saves more, since its steps are finer at the end. ``drift``: a stream on which the same score is wrong ever more often;
thresholds are tuned once on its beginning, or whenever the newest 16 inputs agree too seldom; both are judged on all
other inputs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.caches_parts.certified import effect, leaves_at, rows
from benchmarks.harness import Outcome, Row, interleaved, run
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import tuned

AGREEMENT, INPUTS = 0.99, 512
STEPS = {2: 0.01, 3: 0.025}
"""Steps of the grid, by the number of exits."""
EXITS = (2, 3, 8)
WINDOWS, QUICK_WINDOWS = 12, 2
PAPERS_GAP = 0.038
"""The largest that the paper reports."""
STREAM, TUNED_ON = 6000, 512


WINDOW = 16
"""Tuning begins when the agreement over so many inputs is below the constraint."""


@dataclass
class Trigger:
    """When to tune: the agreement over the newest ``WINDOW`` inputs is below the constraint."""

    agreement: float
    _newest: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def saw(self, right: bool) -> bool:
        """Take whether one more input got the right answer; True where thresholds are to be tuned now."""
        self._newest.append(right)
        full = len(self._newest) == WINDOW
        return full and sum(self._newest) / WINDOW < self.agreement


def measure(quick: bool) -> Outcome:
    """All parts."""
    windows = QUICK_WINDOWS if quick else WINDOWS
    rows = [row for exits in EXITS for row in _windows(exits, windows)]
    rows += [row for seed in range(windows) for row in _drift(seed)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def simulated(seed: int, exits: int, inputs: int, harder: float = 0.0) -> Record:
    """A window of inputs; ``harder``: how many times more often a score is wrong at its last input than at its first.

    So do scores mean less where a camera shows what the exits were not trained on.
    """
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.3, 0.9, exits)[:, None] + rng.normal(0, 0.05, (exits, 1))
    hardness = rng.beta(1.2, 2.0, inputs)[None, :]
    margin = skill - hardness + rng.normal(0, 0.15, (exits, inputs))
    errors = 1 / (1 + np.exp(6 * margin))
    wrong = errors * rng.uniform(0.4, 1.0, (exits, inputs)) * (1 + harder * np.linspace(0, 1, inputs))
    right = rng.random((exits, inputs)) > wrong
    until = np.cumsum(rng.uniform(0.5, 1.5, exits + 1))
    return Record.of(errors, right, until + 0.03 * np.minimum(np.arange(1, exits + 2), exits))


def grid(record: Record, agreement: float, step: float) -> Thresholds:
    """The best thresholds on a grid."""
    values = np.arange(0, 1 + step / 2, step)
    best, most = np.zeros(record.exits), -1.0
    for each in product(values, repeat=record.exits):
        found = effect(record, np.array(each))
        if found.agreement >= agreement - 1e-12 and found.saved > most:
            best, most = np.array(each), found.saved
    return best


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Median time with eight exits; gaps to the grid by the number of exits; agreement of both ways under drift."""
    eight = [row["processor_ms"] for row in rows if (row["exits"], row["way"]) == (8, "climb")]
    kept = {way: mean(r["agreement"] for r in rows if r["way"] == way) for way in ("once", "continually")}
    return {
        "climb_ms": round(median(eight), 3),
        "gaps": {
            exits: _gaps([r["gap"] for r in rows if r["exits"] == exits and r["way"] == "climb"]) for exits in STEPS
        },
        **{way: round(share, 4) for way, share in kept.items()},
    }


def _gaps(gaps: Sequence[float]) -> dict[str, float]:
    """A gap in one window does not make up for one in another, so the largest and the mean without signs count."""
    return {
        "largest": max(gaps),
        "mean_missed": round(mean(max(gap, 0.0) for gap in gaps), 4),
        "share_beyond_the_papers": round(mean(gap > PAPERS_GAP for gap in gaps), 3),
    }


def _windows(exits: int, windows: int) -> Iterator[Row]:
    for seed in range(windows):
        record = simulated(seed, exits, INPUTS)
        ways: dict[str, Callable[[], tuple[Thresholds, float]]] = {
            "climb": partial(_timed, partial(tuned, record, AGREEMENT))
        }
        if exits in STEPS:
            ways["grid"] = partial(_timed, partial(grid, record, AGREEMENT, STEPS[exits]))
        found = interleaved(ways, 1 if exits in STEPS else 9, seed)
        best = effect(record, found["grid"][0][0]).saved if exits in STEPS else None
        for way, runs in found.items():
            yield _row("window", exits, INPUTS, way, 1e3 * median(s for _, s in runs), record, runs[0][0], best)


def _timed(work: Callable[[], Thresholds]) -> tuple[Thresholds, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def _row(
    part: str,
    exits: int,
    inputs: int,
    way: str,
    milliseconds: float | None,
    record: Record,
    thresholds: Thresholds,
    best: float | None = None,
) -> Row:
    """``best``: what the grid saves."""
    found = effect(record, thresholds)
    return {
        "part": part,
        "exits": exits,
        "inputs": inputs,
        "way": way,
        "processor_ms": None if milliseconds is None else round(milliseconds, 3),
        "agreement": round(found.agreement, 4),
        "saved": round(found.saved, 4),
        "gap": None if best is None else round(1 - found.saved / best, 4),
        "thresholds": " ".join(f"{each:.3f}" for each in thresholds),
        "tunings": 1,
    }


def _drift(seed: int) -> Iterator[Row]:
    stream = simulated(seed, 4, STREAM, harder=8)
    first = tuned(rows(stream, np.arange(TUNED_ON)), AGREEMENT)
    yield _row("drift", 4, STREAM, "once", None, rows(stream, np.arange(TUNED_ON, STREAM)), first)
    thresholds, trigger, wrong, latency, tunings = first, Trigger(AGREEMENT), 0, 0.0, 1
    for at in range(TUNED_ON, STREAM):
        now = rows(stream, np.arange(at, at + 1))
        place = int(leaves_at(now, thresholds)[0])
        right = place == stream.exits or bool(now.right[place, 0])
        wrong, latency = wrong + (not right), latency + float(stream.latency[place])
        if trigger.saw(right):
            thresholds = tuned(rows(stream, np.arange(at + 1 - TUNED_ON, at + 1)), AGREEMENT)
            trigger, tunings = Trigger(AGREEMENT), tunings + 1
    count = STREAM - TUNED_ON
    kept = {
        "agreement": round(1 - wrong / count, 4),
        "saved": round(1 - latency / count / float(stream.latency[-1]), 4),
    }
    plain = {"part": "drift", "exits": 4, "inputs": STREAM, "way": "continually", "processor_ms": None}
    yield {**plain, **kept, "gap": None, "thresholds": "", "tunings": tunings}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for way, style in (("climb", "o"), ("grid", "x")):
        mine = [row for row in rows if row["way"] == way and row["exits"] in STEPS]
        left.plot([row["processor_ms"] for row in mine], [row["saved"] for row in mine], style, label=way)
    left.set(xscale="log", xlabel="processor time, ms", ylabel="latency saved", title="one window of 512 inputs")
    left.legend()
    for way, style in (("once", "x"), ("continually", "o")):
        mine = [row for row in rows if row["way"] == way]
        right.plot([row["agreement"] for row in mine], [row["saved"] for row in mine], style, label=f"tuned {way}")
    right.axvline(AGREEMENT, color="grey", linewidth=0.8)
    right.set(xlabel="agreement", ylabel="latency saved", title="a stream that drifts")
    right.legend()


if __name__ == "__main__":
    run("tuning", measure, __doc__ or "")
