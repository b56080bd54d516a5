"""Replanning with our own networks on a real clip: detectors and recognisers of several sizes, against a static plan.

Every detector, and every recogniser on what every detector found, runs once on each frame, in an order drawn anew;
then plans are made over these times for many SLOs. The profile is what every third frame took, the plans are for the
others. The static plan is made once for an SLO, for as many objects as 95 % of the profile's frames have; replanning
knows when detection has ended and how many objects it has found. Accuracy is agreement with the best networks: objects
that are found and named as by them, as a share of all objects of both; frames without objects are left out. Times are
those of one thread's processor, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.replanning_parts.frames import Seen, images, seen
from benchmarks.replanning_parts.networks import Network
from benchmarks.tracking_parts.recordings import models
from pipelines.planning.options import Option, Table
from pipelines.planning.plan import FramePlan, Load, Terms, plan, replan
from serving.catalogue.lookup import SHIPPED, Catalogue

CLIP = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "videos" / "street-level.mp4"
DETECTORS = tuple(f"yolox-nano{size}" for size in ("", "@onnxruntime-fp32-size320", "@onnxruntime-fp32-size256"))
RECOGNISERS = ("vehicle-type", "vehicle-type-compact")
FRAMES, QUICK_FRAMES = 90, 9
SLOS = 14
PATH = ("detect", "type")
TAIL = 95
"""Percentile of the profile's times and objects that is allowed for."""


def measure(quick: bool) -> harness.Outcome:
    """Both plans over SLOs from where hardly anything fits to where everything does."""
    with tempfile.TemporaryDirectory(prefix="sluice-replanning-") as scratch:
        folder = Path(scratch)
        models("yolox-nano", folder / "models")
        known = Catalogue([folder / "models", SHIPPED])
        detectors, recognisers = (
            {model: Network.opened(model, known, folder / "cache") for model in listed}
            for listed in (DETECTORS, RECOGNISERS)
        )
        frames = seen(images(CLIP, QUICK_FRAMES if quick else FRAMES), detectors, recognisers, random.Random(0))
    rows = rows_of(frames)
    headline = {
        "accuracy_gain": max(row["accuracy_gain"] for row in rows),
        "mean_accuracy_gain": round(fmean(row["accuracy_gain"] for row in rows), 4),
        "latency_ratio": max(row["latency_ratio"] for row in rows),
        "late_share": [round(fmean(row[f"late_share_{way}"] for row in rows), 4) for way in ("static", "replanned")],
    }
    return harness.Outcome(rows, headline, partial(_draw, rows))


def rows_of(frames: Sequence[Seen]) -> list[dict[str, Any]]:
    """One row for each SLO."""
    profile, played = frames[::3], [frame for place, frame in enumerate(frames) if place % 3]
    query, objects = terms(profile), _percentile([float(each.objects[DETECTORS[0]]) for each in profile])
    times = [query.tables[node].times(round(objects) if node == "type" else 1) for node in PATH]
    least_s, longest_s = (sum(each[place] for each in times) for place in (0, 1))
    slos_s = np.linspace(0.8 * least_s, 1.3 * longest_s, SLOS).tolist()
    return [_row(query, slo_s, round(objects), played) for slo_s in slos_s]


def terms(profile: Sequence[Seen]) -> Terms:
    """The tables, as the profile's frames have them."""
    detectors = [_percentile([each.detected_s[name] for each in profile]) for name in DETECTORS]
    item_s = [
        _percentile([each.recognised_s[pair] / each.objects[pair[0]] for each in profile])
        for pair in ((DETECTORS[0], name) for name in RECOGNISERS)
    ]
    tables = {
        "detect": Table(tuple(Option.fixed(name, None, s) for name, s in zip(DETECTORS, detectors, strict=True))),
        "type": Table(
            tuple(Option.of(name, None, partial(mul, s)) for name, s in zip(RECOGNISERS, item_s, strict=True))
        ),
    }
    return Terms((PATH,), tables)


def _row(query: Terms, slo_s: float, objects: int, frames: Sequence[Seen]) -> dict[str, Any]:
    static = plan(query, slo_s, Load({"type": objects}), 0.0)
    fixed = (static.choices["detect"].variant, static.choices["type"].variant)
    replanned = [_replanned(static, frame) for frame in frames]
    found: dict[str, list[tuple[float, float]]] = {"static": [], "replanned": []}
    for frame, pair in zip(frames, replanned, strict=True):
        for way, (detector, recogniser) in (("static", fixed), ("replanned", pair)):
            took_s = frame.detected_s[detector] + frame.recognised_s[detector, recogniser]
            found[way].append((frame.accuracy[detector, recogniser], took_s))
    accuracy = {way: fmean(each for each, _ in pairs) for way, pairs in found.items()}
    mean_s = {way: fmean(each for _, each in pairs) for way, pairs in found.items()}
    rank = {pair: place for place, pair in enumerate((d, r) for d in DETECTORS for r in RECOGNISERS)}
    return {
        "slo_ms": round(1000 * slo_s, 1),
        "static_detector": fixed[0],
        "static_recogniser": fixed[1],
        **{f"accuracy_{way}": round(each, 4) for way, each in accuracy.items()},
        "accuracy_gain": round(accuracy["replanned"] - accuracy["static"], 4),
        **{f"mean_ms_{way}": round(1000 * each, 2) for way, each in mean_s.items()},
        "latency_ratio": round(mean_s["static"] / mean_s["replanned"], 3),
        **{f"late_share_{way}": round(fmean(s > slo_s for _, s in pairs), 4) for way, pairs in found.items()},
        "better_share": round(fmean(rank[pair] < rank[fixed] for pair in replanned), 4),
        "frames": len(frames),
    }


def _replanned(static: FramePlan, frame: Seen) -> tuple[str, str]:
    """The pair that a frame gets: the recogniser is chosen when it is known what detection took and found."""
    detector = static.choices["detect"].variant
    after = replan(static, {"detect": frame.detected_s[detector]}, {"type": frame.objects[detector]})
    return detector, after.choices["type"].variant


def _percentile(values: Sequence[float]) -> float:
    return float(np.percentile(values, TAIL))


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    panels = figure.subplots(1, 3)
    slos_ms = [row["slo_ms"] for row in rows]
    for axes, key, scale, title in zip(
        panels,
        ("accuracy", "mean_ms", "late_share"),
        (100, 1, 100),
        ("agreement with the best networks, %", "mean time of a frame, ms", "frames later than the SLO, %"),
        strict=True,
    ):
        for way, style in (("static", "k-"), ("replanned", "g-")):
            axes.plot(slos_ms, [scale * row[f"{key}_{way}"] for row in rows], style, label=way)
        axes.set_title(title, fontsize=8)
        axes.set_xlabel("SLO, ms of one processor", fontsize=7)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("replanning_real", measure, __doc__ or "")
