"""Replanning with our own networks on a real clip: detectors and recognisers of several sizes, against a static plan.

Every detector, and every recogniser on what every detector found, runs once on each frame, in an order drawn anew;
then plans are made over these times for many SLOs. The profile is what every third frame took, the plans are for the
others. The static plan is made once for an SLO, for as many objects as 95 % of the profile's frames have. Replanning is
what the product's executor asks: it knows when detection has ended and how many objects it has found, and has learnt
from the profile's frames, and from those before, what nodes take. Accuracy is agreement with the best networks: objects
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
from benchmarks.replanning_parts.plan import Terms, plan
from benchmarks.tracking_parts.recordings import models
from operators.decision import Decision
from pipelines.planning.options import Option, Table
from pipelines.planning.planner import Start, Step
from pipelines.planning.replanning import Replanning
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
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """The SLO at which most is gained, with its own ratio of times; means over all SLOs."""
    best = max(rows, key=lambda row: row["accuracy_gain"])
    return {
        "best": {key: best[key] for key in ("slo_ms", "accuracy_gain", "latency_ratio")},
        "mean_accuracy_gain": round(fmean(row["accuracy_gain"] for row in rows), 4),
        "late_share": [round(fmean(row[f"late_share_{way}"] for row in rows), 4) for way in ("static", "replanned")],
    }


def rows_of(frames: Sequence[Seen]) -> list[dict[str, Any]]:
    """One row for each SLO."""
    profile, played = frames[::3], [frame for place, frame in enumerate(frames) if place % 3]
    known, objects = tables(profile), _percentile([float(each.objects[DETECTORS[0]]) for each in profile])
    times = [known[node].times(round(objects) if node == "type" else 1) for node in PATH]
    least_s, longest_s = (sum(each[place] for each in times) for place in (0, 1))
    slos_s = np.linspace(0.8 * least_s, 1.3 * longest_s, SLOS).tolist()
    return [_row(known, slo_s, round(objects), profile, played) for slo_s in slos_s]


def tables(profile: Sequence[Seen]) -> dict[str, Table]:
    """What networks take, as the profile's frames have it."""
    detectors = [_percentile([each.detected_s[name] for each in profile]) for name in DETECTORS]
    item_s = [
        _percentile([each.recognised_s[pair] / each.objects[pair[0]] for each in profile])
        for pair in ((DETECTORS[0], name) for name in RECOGNISERS)
    ]
    return {
        "detect": Table(tuple(Option.fixed(name, None, s) for name, s in zip(DETECTORS, detectors, strict=True))),
        "type": Table(
            tuple(Option.of(name, None, partial(mul, s)) for name, s in zip(RECOGNISERS, item_s, strict=True))
        ),
    }


def _row(
    known: dict[str, Table], slo_s: float, objects: int, profile: Sequence[Seen], frames: Sequence[Seen]
) -> dict[str, Any]:
    full = Table(tuple(Option.fixed(each.variant, None, each.takes_s(objects)) for each in known["type"].options))
    static = plan(Terms((PATH,), {**known, "type": full}), slo_s)
    fixed = (static.choices["detect"].variant, static.choices["type"].variant)
    replanned = _replanned(known, slo_s, [*profile, *frames])[len(profile) :]
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


def _replanned(known: dict[str, Table], slo_s: float, frames: Sequence[Seen]) -> list[tuple[str, str]]:
    """The pair that each frame gets: the recogniser is chosen when it is known what detection took and found."""
    plans, found = Replanning([[node] for node in PATH], known, {}), list[tuple[str, str]]()

    def asked(node: str, now_s: float, deadline_s: float, objects: int) -> Decision:
        plan = plans.plan(Step("cam", node, known[node].variants, now_s, deadline_s, 0.0))
        return plan.chosen_for(objects, lambda model: True)

    for number, frame in enumerate(frames):
        began_s = float(number)
        plans.begins(Start("cam", began_s, began_s + slo_s, False, (), False))
        detect = asked("detect", began_s, began_s + slo_s, 1)
        detector = str(detect.variant)
        detected_s, objects = frame.detected_s[detector], frame.objects[detector]
        plans.ended("cam", "detect", detected_s, detect)
        recognise = asked("type", began_s + detected_s, began_s + slo_s, objects)
        recogniser = str(recognise.variant)
        plans.ended("cam", "type", frame.recognised_s[detector, recogniser], recognise)
        found.append((detector, recogniser))
    return found


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
