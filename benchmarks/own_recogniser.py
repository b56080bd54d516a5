"""What ``sluice models train`` makes of few and of more crops of seven streets, beside the network it starts from.

Crops of cars, motorcycles, trucks and buses, at most so many of each class, from all cameras alike. Whole cameras are
held out. A row is a base, a way and a number of crops:

``as it ships``  the base's own words for the same held-out crops, by the map of ``WORDS``; costs nothing
``frozen``       a new last layer on frozen features
``last block``   the last block trained further, whether or not that gains enough to be kept

The networks that ship now have learnt from these very crops, of all cameras: the committed figures are of those before
them, and a run with today's says nothing of cameras that are new to the features.

``named`` and ``right`` are by the confidence that the making chose for ``right`` of .9, and by the card's for the base.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from datasets import camera_crops
from serving.catalogue.lookup import SHIPPED, Catalogue, Entry
from serving.common.tensors import softmax, words
from serving.engines.network import run_in_steps
from serving.loading.opening import open_model
from serving.preprocess import batch
from specialization.kit import recogniser
from specialization.kit.crops import CropOrigin, Crops
from specialization.kit.recogniser import RecogniserRequest, make
from specialization.kit.report import HeldOut

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SOURCE = "vietnam_cctv"
CLASSES = ("bus", "car", "motorcycle", "truck")
WORDS = {
    "bike": "motorcycle",
    "motorcycle": "motorcycle",
    "bus": "bus",
    "car": "car",
    "truck": "truck",
    "juggernaut": "truck",
    "pickup": "truck",
    "minibus": "bus",
}
"""Words of the networks that ship → labels of the crops."""
BASES = ("vehicle-type-compact", "vehicle-type")
SIZES = (50, 150)
"""Crops of each class."""
STEP = 32
ALWAYS = -1.0
"""What the last block must gain to be kept, so that it always is."""


def measure(quick: bool) -> harness.Outcome:
    """All bases and sizes; ``quick``: the first."""
    known, crops = Catalogue([SHIPPED]), camera_crops.read(DATA / "crops", (SOURCE,))
    rows = []
    for base in BASES[:1] if quick else BASES:
        for size in SIZES[:1] if quick else SIZES:
            rows += measured(known.find(base), some(crops, size))
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Mean accuracy of the classes by base, way and number of crops."""
    return {f"{row['base']}, {row['way']}, {row['crops']} crops": row["balanced"] for row in rows}


def some(crops: Sequence[camera_crops.Crop], size: int) -> Crops:
    """At most ``size`` crops of each class, of each camera as many as of the others, as far as it has them."""
    chosen: list[camera_crops.Crop] = []
    for name in CLASSES:
        taken: Counter[str] = Counter()
        ranked = []
        for crop in (crop for crop in crops if crop.label == name):
            ranked.append((taken[crop.camera], crop.camera, crop))
            taken[crop.camera] += 1
        ranked.sort(key=lambda each: each[:2])
        chosen += sorted((crop for _, _, crop in ranked[:size]), key=lambda crop: crop.name)
    labels = [CLASSES.index(crop.label) for crop in chosen]
    return Crops(CLASSES, labels, [CropOrigin.of(crop.name) for crop in chosen], [crop.image for crop in chosen])


def measured(base: Entry, crops: Crops) -> list[dict[str, Any]]:
    """A base as it ships, and what is made of it."""
    rows = [_row(base, "as it ships", crops, as_it_ships(base, crops), 0.0)]
    for way, tune in (("frozen", False), ("last block", True)):
        before, least = time.process_time(), recogniser.LEAST_GAIN
        recogniser.LEAST_GAIN = ALWAYS
        try:
            made = make(base, crops, RecogniserRequest("own", tune=tune), lambda step, share: None)
        finally:
            recogniser.LEAST_GAIN = least
        rows.append(_row(base, way, crops, made.held_out, time.process_time() - before))
    return rows


def as_it_ships(base: Entry, crops: Crops) -> HeldOut:
    """The base's answers in the words of the crops; a word that none of them fits is wrong, or not named."""
    network = open_model(base, threads=1)
    scores = run_in_steps(network.run, batch(base.card.input, list(crops.images))[0], STEP)[0]
    network.close()
    shares = softmax(scores / base.card.temperature)
    place = np.array([CLASSES.index(WORDS[word]) if word in WORDS else -1 for word in base.card.classes])
    said = words(shares, base.card.min_confidence)
    answers = np.where(said >= 0, place[said], -1)
    return HeldOut(CLASSES, np.array(crops.labels), place[shares.argmax(axis=1)], answers, "camera")


def _row(base: Entry, way: str, crops: Crops, held: HeldOut, seconds: float) -> dict[str, Any]:
    return {
        "base": base.card.name,
        "way": way,
        "crops": len(crops.labels),
        "measured": len(held.truth),
        "held_out": held.unit,
        "balanced": round(held.balanced, 3),
        "named": round(held.coverage, 3),
        "right": round(held.right, 3),
        "processor_s": round(seconds, 1),
        "confusion": json.dumps(held.confusion().tolist()),
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    """Mean accuracy of the classes."""
    axes = figure.subplots()
    groups = list(dict.fromkeys((row["base"], row["crops"]) for row in rows))
    for offset, way in enumerate(("as it ships", "frozen", "last block")):
        values = [
            next(row["balanced"] for row in rows if (row["base"], row["crops"], row["way"]) == (*group, way))
            for group in groups
        ]
        axes.bar(np.arange(len(groups)) + 0.27 * (offset - 1), values, 0.25, label=way)
    axes.set_xticks(range(len(groups)), [f"{base}\n{count} crops" for base, count in groups], fontsize=8)
    axes.set_ylabel("right, mean of the classes, on cameras held out")
    axes.legend()


if __name__ == "__main__":
    harness.run("own_recogniser", measure, __doc__ or "")
