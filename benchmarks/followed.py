"""What it gains that thresholds follow the newest looks (Dai et al., 2024 [Apparate], §3.2, Table 1).

ResNet-18 on the CIFAR-10 test images: caches are built on one half, for a share of right ones among their answers. Then
the other half is shown, whose second part is disturbed by noise, one image after the other. Thresholds are those that
were built, ``static``, or follow, ``followed``, as they do where a query says ``caches: release``. Every image runs to
the network's end, so that all answers can be compared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.caches_images_parts.cases import cases
from benchmarks.harness import Outcome, Row, run
from benchmarks.released_parts.learnt import Learnt
from cache_adapt.caches.job import lookup_s
from cache_adapt.caches.newest import NewestLooks, heard
from cache_adapt.caches.retune import RetuneTrigger, retuned
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.tune import Costs
from cache_adapt.exits.certify import Constraint
from operators.recognise.cached.building import CutPlace, costs_of
from pipelines.measure.tapped_pictures import forward_tapped
from serving.common.tensors import Array

TARGETS = (0.9, 0.97)
WAYS = ("static", "followed")
NOISE = 0.35
"""Standard deviation, in those of the pixels."""
QUICK = 700


def measure(quick: bool) -> Outcome:
    """A row for each target, way and part of the stream."""
    with threadpool_limits(1, user_api="blas"), tempfile.TemporaryDirectory() as folder:
        case = next(cases(QUICK if quick else None))
        learnt, stream = Learnt.of(case, Path(folder)), _disturbed(case.unseen)
        rows = [row for target in TARGETS for row in _rows(learnt, stream, target)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By target, part and way: the share that caches answered, and the share of these answers that was right."""
    return {f"{row['target']:g} {row['part']} {row['way']}": (row["answered"], row["right_of_answers"]) for row in rows}


def _disturbed(items: Array) -> Array:
    """Noise on the second half of them."""
    later = len(items) // 2
    noise = np.random.default_rng(0).normal(0, NOISE, items[later:].shape).astype(np.float32)
    return np.concatenate([items[:later], items[later:] + noise])


@dataclass(frozen=True)
class Shown:
    """A stream of N images, and what R caches and the network say of each."""

    built: BuiltCaches
    taps: Sequence[Array]
    answers: NDArray[np.intp]
    errors: Array
    """R × N."""
    right: NDArray[np.bool_]
    """R × N."""


@dataclass(frozen=True)
class Went:
    """How a stream went."""

    answered: NDArray[np.bool_]
    right: NDArray[np.bool_]
    """Whether each image got the network's answer."""
    tunings: int
    tuning_ms: float
    """Processor time of one."""


def _rows(learnt: Learnt, stream: Array, target: float) -> Iterator[Row]:
    built = learnt.caches(Constraint(target, "answers"))
    if built is None:
        return
    shown = _shown(learnt, built, stream)
    for way in WAYS:
        went = _gone(learnt, shown, target, follows=way == "followed")
        for part, where in (("clean", slice(len(stream) // 2)), ("noisy", slice(len(stream) // 2, None))):
            answered, wrong = int(went.answered[where].sum()), int((~went.right[where]).sum())
            yield {
                "target": target,
                "way": way,
                "part": part,
                "images": len(went.right[where]),
                "answered": round(answered / len(went.right[where]), 4),
                "right_of_answers": round(1 - wrong / max(answered, 1), 4),
                "tunings": went.tunings,
                "tuning_ms": round(went.tuning_ms, 2),
            }


def _shown(learnt: Learnt, built: BuiltCaches, stream: Array) -> Shown:
    points = {point.tensor: point for point in learnt.whole.points}
    cuts = [points[tensor] for tensor in built.tensors]
    taps, scores = forward_tapped(learnt.whole.card.name, learnt.whole.graph, cuts, stream, lambda what, share: None)
    found = [cache.predictor.probabilities(tap) for cache, tap in zip(built.caches, taps, strict=True)]
    answers = scores.argmax(axis=1)
    errors = np.stack([cache.errors(each) for cache, each in zip(built.caches, found, strict=True)])
    return Shown(built, taps, answers, errors, np.stack([each.argmax(axis=1) == answers for each in found]))


def _gone(learnt: Learnt, shown: Shown, target: float, follows: bool) -> Went:
    """Show the images in their order."""
    thresholds: Mapping[int, float] = {place: cache.threshold for place, cache in enumerate(shown.built.caches)}
    due, newest, costs = RetuneTrigger(target), NewestLooks(shown.built.caches, _words), _costs(learnt, shown.built)
    answered, right = np.zeros(len(shown.answers), np.bool_), np.ones(len(shown.answers), np.bool_)
    tunings, spent_s = 0, 0.0
    for at in range(len(shown.answers)):
        here = slice(at, at + 1)
        sure = [place for place in sorted(thresholds) if shown.errors[place, at] < thresholds[place]]
        if sure:
            answered[at], right[at] = True, shown.right[sure[0], at]
        newest.add([tap[here] for tap in shown.taps], shown.answers[here])
        if follows and due.saw([bool(right[at])]):
            began_s = time.thread_time()
            best = retuned(heard(newest.now), costs, target)
            tunings, spent_s = tunings + 1, spent_s + time.thread_time() - began_s
            thresholds = dict(zip(best.chosen, best.thresholds, strict=True))
    return Went(answered, right, tunings, 1e3 * spent_s / max(tunings, 1))


def _costs(learnt: Learnt, built: BuiltCaches) -> Costs:
    """What looks take, as a node with these caches knows it."""
    shares = {point.tensor: point.share for point in learnt.whole.points}
    plan = [CutPlace(cache.tensor, cache.predictor.grid, shares[cache.tensor]) for cache in built.caches]
    return costs_of(plan, range(len(plan)), [lookup_s(cache) for cache in built.caches], learnt.tapped.whole_s)


def _words(shares: Array) -> NDArray[np.intp]:
    found: NDArray[np.intp] = shares.argmax(axis=1)
    return found


def _draw(rows: Sequence[Row], figure: Any) -> None:
    parts = list(dict.fromkeys((row["target"], row["part"]) for row in rows))
    left, right = figure.subplots(1, 2)
    for shift, way in enumerate(WAYS):
        mine = [row for row in rows if row["way"] == way]
        places = np.arange(len(parts)) + 0.38 * (shift - 0.5)
        left.bar(places, [row["answered"] for row in mine], 0.36, label=way)
        right.bar(places, [row["right_of_answers"] for row in mine], 0.36, label=way)
    for place, (target, _) in enumerate(parts):
        right.plot([place - 0.45, place + 0.45], [target, target], color="black", linewidth=0.8)
    names = [f"{target:g}, {part}" for target, part in parts]
    for axes, title in ((left, "answered by caches"), (right, "right of these answers")):
        axes.set_xticks(range(len(parts)), names)
        axes.set(title=title)
    right.set_ylim(0.75, 1)
    left.legend()


if __name__ == "__main__":
    run("followed", measure, __doc__ or "")
