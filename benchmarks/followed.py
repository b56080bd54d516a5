"""What it gains that thresholds follow the newest looks (Dai et al., 2024 [Apparate], §3.2, Table 1).

ResNet-18 on the CIFAR-10 test images: exits are made of one half, for a share of right ones among their answers. Then
the other half is shown, whose second part is disturbed by noise, one image after the other. Thresholds are those that
were tuned on the first half, ``static``, or follow, ``followed``:
they are tuned every 128 looks, on as many of the newest as a node keeps. Every image runs to the network's end, so that
all answers can be compared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.caches_images_parts.cases import cases
from benchmarks.exit_parts.cifar import Cifar
from benchmarks.harness import Outcome, Row, run
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitsSpec
from operators.recognise.exits.cut_oracle import LookSeconds
from operators.recognise.exits.held_looks import KEPT
from operators.recognise.exits.tuning import chosen
from serving.common.tensors import Array

TARGETS = (0.9, 0.97)
WAYS = ("static", "followed")
TAUGHT = 0.5
"""Share of the first half that exits are fitted to; they are tuned on the rest."""
NOISE = 0.35
"""Standard deviation, in those of the pixels."""
EVERY = 128
"""Looks between two tunings where thresholds follow (§3.3)."""
QUICK = 700


@dataclass(frozen=True)
class Shown:
    """Exits, the looks that they were tuned on first, and a stream."""

    artefact: ExitArtefact
    spec: ExitsSpec
    first: ExitRows
    stream: ExitRows
    whole_s: float


@dataclass(frozen=True)
class Went:
    """How a stream went."""

    answered: NDArray[np.bool_]
    right: NDArray[np.bool_]
    """Whether each image got the network's answer."""
    tunings_ms: Sequence[float]
    """Processor time of each."""


def measure(quick: bool) -> Outcome:
    """A row for each target, way and part of the stream."""
    with threadpool_limits(1, user_api="blas"), tempfile.TemporaryDirectory() as folder:
        case = next(cases(QUICK if quick else None))
        cifar = Cifar.written(Path(folder), case.learnt[:1])
        first, stream = cifar.rows(case.learnt), cifar.rows(disturbed(case.unseen))
        rows = [row for target in TARGETS for row in _rows(cifar, first, stream, target)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By target, part and way: the share that exits answered, and the share of these answers that was right."""
    return {f"{row['target']:g} {row['part']} {row['way']}": (row["answered"], row["right_of_answers"]) for row in rows}


def disturbed(items: Array) -> Array:
    """Noise on the second half of them."""
    later = len(items) // 2
    noise = np.random.default_rng(0).normal(0, NOISE, items[later:].shape).astype(np.float32)
    return np.concatenate([items[:later], items[later:] + noise])


def _rows(cifar: Cifar, first: ExitRows, stream: ExitRows, target: float) -> Iterator[Row]:
    spec, taught = cifar.spec(target), round(TAUGHT * len(first))
    artefact = fit(cifar.entry.card.name, cifar.entry.card.identity, spec, first.of(slice(taught)))
    shown = Shown(artefact, spec, first.of(slice(taught, None)), stream, cifar.whole_s)
    for way in WAYS:
        went = gone(shown, follows=way == "followed")
        half = len(stream) // 2
        for part, where in (("clean", slice(half)), ("noisy", slice(half, None))):
            answered, wrong = int(went.answered[where].sum()), int((~went.right[where]).sum())
            yield {
                "target": target,
                "way": way,
                "part": part,
                "images": len(went.right[where]),
                "answered": round(answered / len(went.right[where]), 4),
                "right_of_answers": round(1 - wrong / max(answered, 1), 4),
                "tunings": len(went.tunings_ms),
                "tuning_ms": round(float(np.median(went.tunings_ms)), 2),
            }


def gone(shown: Shown, follows: bool) -> Went:
    """Show the images in their order."""
    said = Heard.of(shown.artefact.exits, _looks(shown.stream, 0))
    heard, tunings_ms = [_looks(shown.first, 0)], list[float]()
    thresholds = _tuned(shown, heard, tunings_ms)
    answered, right = np.zeros(len(shown.stream), np.bool_), np.ones(len(shown.stream), np.bool_)
    for start in range(0, len(shown.stream), EVERY):
        now = slice(start, start + EVERY)
        found = said.chain(thresholds)
        answered[now], right[now] = found.place[now] < len(thresholds), found.right[now]
        if follows:
            heard.append(_looks(shown.stream.of(now), len(shown.first) + start))
            thresholds = _tuned(shown, heard, tunings_ms)
    return Went(answered, right, tunings_ms)


def _looks(rows: ExitRows, number: int) -> ExitRows:
    """Each at another object; ``number``: of the first."""
    return replace(rows, shown=ShownLooks.of([str(number + row) for row in range(len(rows))]))


def _tuned(shown: Shown, looks: Sequence[ExitRows], tunings_ms: list[float]) -> NDArray[np.float64]:
    """The thresholds by what was heard; 0 where no exit pays."""
    newest = Heard.of(shown.artefact.exits, ExitRows.joined(looks).newest(KEPT))
    began_s = time.thread_time()
    choice = chosen(shown.artefact, newest, shown.spec, None, LookSeconds(shown.whole_s))
    tunings_ms.append(1e3 * (time.thread_time() - began_s))
    return np.zeros(len(shown.artefact.exits)) if choice is None else np.array(choice.thresholds)


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
    for axes, title in ((left, "answered by exits"), (right, "right of these answers")):
        axes.set_xticks(range(len(parts)), names)
        axes.set(title=title)
    right.set_ylim(0.75, 1)
    left.legend()


if __name__ == "__main__":
    run("followed", measure, __doc__ or "")
