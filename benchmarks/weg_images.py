"""Sequential specialization with real networks on real pictures, timed from picture to answer.

Sets: 120 generated plates, every picture new; CIFAR-10; photos of six vehicle types. The same pictures are answered in
turns by the oracle alone and by the oracle with heads specialised to what the stream shows, both in ONNX Runtime at
fp32 on one thread. What heads are trained on, and their rates, come from pictures that no network learnt and no stream
shows. Streams are as long as what a camera gives within minutes.

- ``speedup``: time of the oracle alone ÷ ours, heads being trained on another core; the CSV also has it for one core
- ``accuracy_diff``: share of right answers, ours − the oracle's, on the same pictures; negative where ours is worse
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.random import Generator

from benchmarks.harness import Outcome, Row, run
from benchmarks.weg_parts.image_plot import draw
from benchmarks.weg_parts.image_run import Account, Ours, measured
from benchmarks.weg_parts.image_sets import ImageSet, image_sets
from benchmarks.weg_parts.image_template import Measured, measure_template
from datasets.streams import ClassStream, Phase, changing, generate
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Weg

SEED = 1
LENGTHS: Mapping[str, int] = {"plates": 2400, "cifar10": 400, "vehicle6": 500}
"""Objects of a stream: the larger a set's oracle is beside others, the fewer."""
QUICK_LENGTHS: Mapping[str, int] = {"5_90": 2400, "random": 400}
"""Objects of a stream of plates: the beginning, with no head yet, hardly counts in so many."""
DRAWS, QUICK_DRAWS = 10, 3
"""Heads trained beforehand for each number of classes, to know how well heads do."""
SKEWED = ((2, 0.9), (3, 0.8), (5, 0.9), (5, 0.8), (10, 0.9))
CHANGES = 4
"""Phases of the stream whose dominant classes change abruptly."""


def measure(quick: bool) -> Outcome:
    """Rows: one per set and stream; quick: two streams of plates."""
    cv2.setNumThreads(1)
    rows = [row for name in (["plates"] if quick else image_sets()) for row in rows_of(name, quick, SEED)]
    plates = [row for row in rows if row["set"] == "plates"]
    headline = {key: {row["stream"]: row[key] for row in plates} for key in ("speedup", "accuracy_diff")}
    return Outcome(rows, headline, partial(draw, rows))


def rows_of(name: str, quick: bool, seed: int) -> Iterator[Row]:
    """All streams of a set."""
    images = image_sets()[name](seed)
    measured_template = measure_template(images, seed, QUICK_DRAWS if quick else DRAWS)
    classes = len(images.labels)
    lengths = QUICK_LENGTHS if quick else dict.fromkeys(streams(classes, LENGTHS[name]), LENGTHS[name])
    for stream, length in lengths.items():
        yield row(images, measured_template, stream, streams(classes, length)[stream], seed)


def streams(classes: int, length: int) -> Mapping[str, Callable[[Generator], ClassStream]]:
    """By name: those whose dominant classes are half of all at most, one without skew, one that changes."""
    skewed = [(n, p) for n, p in SKEWED if 2 * n <= classes]
    n, p = max(skewed, key=lambda each: (each[1], each[0] <= 5, each[0]))
    phase = Phase(length // CHANGES, n, p)
    return {
        **{f"{n}_{p * 100:.0f}": partial(_generated, classes=classes, phase=Phase(length, n, p)) for n, p in skewed},
        "random": partial(_generated, classes=classes, phase=Phase(length)),
        "changes": partial(changing, classes=classes, phase=phase, count=CHANGES),
    }


def _generated(rng: Generator, classes: int, phase: Phase) -> ClassStream:
    return generate(rng, classes, [phase])


def row(images: ImageSet, template: Measured, name: str, stream: Callable[[Generator], ClassStream], seed: int) -> Row:
    """One stream, run."""
    rng = np.random.default_rng((seed, *name.encode()))
    labels = [images.labels[place] for place in stream(rng).labels]
    ours = Ours(images, Weg(Adaptive(template.config, template.templates)), template.train, rng)
    account = measured(images, labels, ours, rng)
    (compact,) = template.templates.values()
    return {
        "set": images.name,
        "classes": images.classes,
        "stream": name,
        **figures(account),
        "compact_cost_of_oracle": round(compact.cost, 4),
    }


def figures(account: Account) -> dict[str, Any]:
    """What the CSV says of a run."""
    each = account.objects
    return {
        "objects": each,
        "speedup": round(account.speedup, 3),
        "speedup_one_core": round(account.speedup_one_core, 3),
        "accuracy_diff": round(account.accuracy_diff, 4),
        "oracle_accuracy": round(account.oracle_right / each, 4),
        "agreement": round(account.agreed / each, 4),
        "oracle_ms": round(account.oracle_s / each * 1e3, 3),
        "ours_ms": round(account.ours_s / each * 1e3, 3),
        "special_rate": round(account.under_head / each, 3),
        "cascade_rate": round(1 - account.by_head / max(account.under_head, 1), 3),
        "transitions": account.entered,
        "heads_trained": len(account.training_s),
        "training_s": round(float(np.mean(account.training_s or [0])), 3),
    }


if __name__ == "__main__":
    run("weg_images", measure, __doc__ or "")
