"""What trackers are given, frame by frame: the boxes that a detector reports, with the truth beside them.

The truth is the generated street's. ``made`` boxes are true ones as a poor detector would report them, ``found`` boxes
are what the product's own detectors report on the same street, by ``sluice run``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import yaml

from datasets.street import StreetObject, open_street
from serving.catalogue.public import public_model
from serving.catalogue.pull import pull

BoxTuple = tuple[float, float, float, float]

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "tracking"
WEIGHTS = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "weights" / "yolox_nano.onnx"
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    "motion": {"model": "motion"},
    "yolox-nano": {"model": "yolox-nano", "min_confidence": 0.3},
}
MADE = "made"
CONFUSED = {"car": "truck", "truck": "car", "pickup": "car", "minibus": "truck", "person": "bike", "bike": "person"}

JITTER = 0.06
"""Standard deviation of an edge, as a share of the box's size."""
MISSED, MISSED_AGAIN = 0.06, 0.5
"""Chance that a visible object is missed, and that one that was just missed is missed in the next frame too."""
MISLABELLED = 0.15
FALSE_PER_FRAME, FALSE_LASTS = 0.5, 0.3
"""New false boxes per frame, and the chance that one is seen in the next frame again."""


@dataclass(frozen=True)
class Found:
    """A box that a detector reports."""

    box: BoxTuple
    label: str
    confidence: float


@dataclass(frozen=True)
class Moment:
    """One frame."""

    media_time_s: float
    truth: Sequence[StreetObject]
    found: Sequence[Found]


@dataclass(frozen=True)
class Street:
    """Which street is shown, at which rate and for how long."""

    seed: int
    light: str
    fps: int
    duration_s: float
    persons_only: bool = False
    """Whether it is a crowd of persons, some thirty in view, and nothing else."""

    @property
    def options(self) -> dict[str, str]:
        """Options of ``synthetic:street``."""
        values = {"seed": self.seed, "light": self.light, "fps": self.fps, "duration_s": self.duration_s}
        crowd = {"mix": "person", "density": "2.2"} if self.persons_only else {}
        return {name: str(value) for name, value in values.items()} | crowd

    @property
    def uri(self) -> str:
        """The name of the source for ``sluice run``."""
        return "synthetic:street?" + "&".join(f"{name}={value}" for name, value in self.options.items())


def recorded(street: Street, detector: str) -> list[Moment]:
    """What the detector (``MADE`` or one of ``DETECTORS``) reports on the street, kept in ``CACHE``."""
    crowd = "-crowd" if street.persons_only else ""
    kept = CACHE / f"{detector}-{street.light}-{street.seed}{crowd}-{street.fps}fps-{street.duration_s:g}s.json"
    if not kept.exists():
        moments = truth(street)
        fresh = made(moments, street.seed) if detector == MADE else found(street, moments, detector)
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(fresh))
    return msgspec.json.decode(kept.read_bytes(), type=list[Moment])


def truth(street: Street) -> list[Moment]:
    """The street's frames, in which nothing was looked for yet."""
    return [Moment(frame.media_time_s, frame.objects, ()) for frame in open_street(street.options)]


def made(moments: Sequence[Moment], seed: int) -> list[Moment]:
    """The true boxes with jitter, misses, wrong labels, low scores where little is in view, and false boxes."""
    rng = np.random.default_rng(seed)
    missed: set[int] = set()
    false: list[Found] = []
    degraded = []
    for moment in moments:
        missed = {one.id for one in moment.truth if rng.random() < _miss_chance(one, missed)}
        false = [one for one in false if rng.random() < FALSE_LASTS]
        false += [_false_box(rng) for _ in range(rng.poisson(FALSE_PER_FRAME))]
        seen = [_seen(one, rng) for one in moment.truth if one.id not in missed]
        degraded.append(Moment(moment.media_time_s, moment.truth, [*seen, *false]))
    return degraded


def found(street: Street, moments: Sequence[Moment], detector: str) -> list[Moment]:
    """What the product's detector reports on the street whose truth is given."""
    with tempfile.TemporaryDirectory() as folder:
        lines = _run(street, detector, Path(folder))
    if len(lines) != len(moments):
        raise RuntimeError(f"{detector} answered {len(lines)} of {len(moments)} frames of {street.uri}")
    return [
        Moment(moment.media_time_s, moment.truth, [_reported(one) for one in line["objects"]])
        for moment, line in zip(moments, lines, strict=True)
    ]


def _miss_chance(one: StreetObject, missed: set[int]) -> float:
    return max(MISSED_AGAIN if one.id in missed else MISSED, 1 - 2 * one.visible)


def _seen(one: StreetObject, rng: np.random.Generator) -> Found:
    x0, y0, x1, y1 = one.box
    noise = rng.normal(0, JITTER, 4) * (x1 - x0, y1 - y0, x1 - x0, y1 - y0)
    left, top, right, bottom = np.clip(np.array(one.box) + noise, 0, 1).tolist()
    label = CONFUSED.get(one.label, one.label) if rng.random() < MISLABELLED else one.label
    box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
    return Found(box, label, float(np.clip(one.visible * rng.normal(0.8, 0.12), 0.05, 1)))


def _false_box(rng: np.random.Generator) -> Found:
    width, height = rng.uniform(0.02, 0.15, 2).tolist()
    x, y = rng.uniform(0, 1 - width), rng.uniform(0.3, 1 - height)
    label = str(rng.choice(sorted(CONFUSED)))
    return Found((x, y, x + width, y + height), label, float(rng.uniform(0.1, 0.7)))


def _run(street: Street, detector: str, folder: Path) -> list[Mapping[str, Any]]:
    query, results = folder / "query.yaml", folder / "results.jsonl"
    node = {"name": "detect", "task": "detect", **DETECTORS[detector]}
    query.write_text(yaml.safe_dump({"version": 1, "name": "tracking", "slo_ms": 60_000, "nodes": [node]}))
    command = [sys.executable, "-m", "pipelines.cli", "run", str(query), "--source", street.uri, "--out", str(results)]
    if detector != "motion":
        command += ["--models", str(models(detector, folder / "models"))]
    subprocess.run(command, check=True, capture_output=True)
    lines: list[Mapping[str, Any]] = [json.loads(line) for line in results.read_text().splitlines()]
    return sorted(lines, key=lambda line: int(line["seq"]))


def models(detector: str, folder: Path) -> Path:
    """A folder with the detector; the weights are those of the sample data."""
    model = public_model(detector)
    (folder / detector).mkdir(parents=True)
    shutil.copy(WEIGHTS, folder / detector / model.file)
    pull(model, folder)
    return folder


def _reported(one: Mapping[str, Any]) -> Found:
    box = one["detection"]["bounding_box"]
    corners = (box["x_min"], box["y_min"], box["x_max"], box["y_max"])
    return Found(corners, one["detection"]["label"], one["detection"]["confidence"])
