"""What parts of sequential specialization are worth: the variants of figure 5.5 of Shen, 2019, with real heads.

Streams of generated plates, of which one to five classes make up most, others in every phase. Both networks look at
every picture once, beforehand; the clock of a run advances by their measured times, and by that of training a head. So
nothing but the rules differs between variants. The printed rules and ours, whole and without one part each:

- ``window of 30``, ``window of 60``: always as long, where else it grows (a)
- ``variable skew``: heads are trained with the stream's skew instead of a fixed share of dominant classes (b)
- ``simple exit``: a head is left when the skew is below that on entry (c)

Changes are to the whole: of the speed-up relative, of the accuracy absolute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np

from benchmarks.harness import Outcome, Row, run
from benchmarks.weg_parts.ablation_plot import draw
from benchmarks.weg_parts.image_run import Account, Ours, measured
from benchmarks.weg_parts.image_sets import plates_set
from benchmarks.weg_parts.image_template import Measured, measure_template
from benchmarks.weg_parts.recorded import Forge, Recording, VirtualClock, record
from benchmarks.weg_parts.variants import FAMILIES, VARIANTS, WHOLE
from datasets.streams import Phase, generate
from specialization.weg.algorithm import Weg

SEED = 3
STREAMS, QUICK_STREAMS = 6, 1
PER_CLASS, QUICK_PER_CLASS = 30, 4
DRAWS, QUICK_DRAWS = 6, 1
PHASES = tuple(Phase(length, n, p) for length, n, p in ((900, 3, 0.92), (600, 2, 0.9), (900, 5, 0.85), (600, 1, 0.9)))


def measure(quick: bool) -> Outcome:
    """Rows: one per rules and variant."""
    cv2.setNumThreads(1)
    images = plates_set()
    template = measure_template(images, SEED, QUICK_DRAWS if quick else DRAWS)
    per_class = QUICK_PER_CLASS if quick else PER_CLASS
    recording = record(images, np.random.default_rng((SEED, 3)), per_class)
    rows = compared(recording, template, Forge(template.train), QUICK_STREAMS if quick else STREAMS)
    return Outcome(rows, headline(rows), partial(draw, rows))


def compared(recording: Recording, template: Measured, forge: Forge, streams: int) -> list[Row]:
    """One row per rules and variant, each with what it changes."""
    rows = [
        {
            "rules": family,
            "variant": variant,
            **_means([_run(recording, template, forge, (family, variant), seed) for seed in range(streams)]),
        }
        for family in FAMILIES
        for variant in VARIANTS
    ]
    return [row | _changes(row, rows) for row in rows]


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Our changes by variant."""
    mine = [row for row in rows if row["rules"] == "ours" and row["variant"] != WHOLE]
    return {key: {row["variant"]: row[key] for row in mine} for key in ("speedup_change", "accuracy_change")}


def _run(recording: Recording, template: Measured, forge: Forge, which: tuple[str, str], seed: int) -> Account:
    family, variant = which
    rng, clock = np.random.default_rng((SEED, 4, seed)), VirtualClock()
    images = recording.replayed(clock)
    stream = generate(rng, len(images.labels), PHASES)
    weg = Weg(FAMILIES[family](variant, template.config, template.templates))
    ours = Ours(images, weg, partial(forge.train, clock=clock), rng, clock)
    return measured(images, stream.labels.tolist(), ours, rng)


def _means(accounts: Sequence[Account]) -> dict[str, Any]:
    def mean(of: Any) -> float:
        return float(np.mean([of(account) for account in accounts]))

    return {
        "objects": round(mean(lambda account: account.objects)),
        "speedup": round(1 / mean(lambda account: account.ours_s / account.oracle_s), 3),
        "accuracy_diff": round(mean(lambda account: account.accuracy_diff), 4),
        "agreement": round(mean(lambda account: account.agreed / account.objects), 4),
        "special_rate": round(mean(lambda account: account.under_head / account.objects), 3),
        "transitions": round(mean(lambda account: account.entered), 1),
        "heads_trained": round(mean(lambda account: len(account.training_s)), 1),
    }


def _changes(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    whole = next(each for each in rows if (each["rules"], each["variant"]) == (row["rules"], WHOLE))
    return {
        "speedup_change": round(row["speedup"] / whole["speedup"] - 1, 4),
        "accuracy_change": round(row["accuracy_diff"] - whole["accuracy_diff"], 4),
    }


if __name__ == "__main__":
    run("weg_ablations", measure, __doc__ or "")
