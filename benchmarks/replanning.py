"""What replanning before every node brings: the traffic query of GATI with the networks of its Table 5, simulated.

A frame is detected on, then its face (46 % of the frames) or its vehicle (45 %) is recognised (§7.3). Detection has
learned caches: it ends early for easy frames. The static plan is made once for an SLO and has no caches; replanning
gives what detection saved to the recogniser. Which share of the frames a cache answers by which depth is an assumption
(``ANSWERED``): the paper does not give it for its detector. Accuracies of the nodes are multiplied.

The time of a decision is that of the code that runs before nodes (``plan``), and of all that the executor asks of the
planner (``executor``), for each node: processor time, the median in the quietest of many rounds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from statistics import fmean, median
from typing import Any

from benchmarks import harness
from operators.base import Call
from pipelines.planning.budgets import Split, paths
from pipelines.planning.options import Option, Table
from pipelines.planning.plan import Load, Terms, plan, replan
from pipelines.planning.planner import Start, Step
from pipelines.planning.replanning import Replanning
from serving.scheduling.urgency import Urgency

GRAPH = {"objects": ("faces", "vehicles"), "faces": (), "vehicles": ()}
TABLE_5 = {
    "objects": (("ResNet-50", 54.5, 0.941), ("ResNet-34", 41.05, 0.929), ("ResNet-18", 27.36, 0.911)),
    "faces": (
        ("SE-LResNet101E-IR", 110.32, 0.991),
        ("SE-LResNet50E-IR", 58.34, 0.981),
        ("SE-LResNet18E-IR", 36.75, 0.976),
        ("SE-LResNet9E-IR", 17.38, 0.955),
    ),
    "vehicles": (
        ("ResNet-101", 111.42, 0.934),
        ("ResNet-50", 54.12, 0.926),
        ("ResNet-18", 23.68, 0.918),
        ("ResNet-9", 16.14, 0.902),
    ),
}
"""By node: network, latency in milliseconds, accuracy; the most accurate first."""
SHARES = {"faces": 0.46, "vehicles": 0.45}
ANSWERED = (0.0, 0.11, 0.20, 0.31, 0.54, 0.80, 0.92, 1.0)
"""Share of the frames that caches have answered after each eighth of the detector."""
SPLITS: tuple[Split, ...] = ("equal", "proportional")
SLOS_MS = range(60, 201, 10)
FRAMES, QUICK_FRAMES = 4000, 400
ROUNDS, TIMED = 10, 30
RANK = {(node, name): place for node, rows in TABLE_5.items() for place, (name, _, _) in enumerate(rows)}
ACCURACY = {(node, name): accuracy for node, rows in TABLE_5.items() for name, _, accuracy in rows}


def terms(split: Split) -> Terms:
    """The query and its networks."""
    tables = {
        node: Table(tuple(Option.fixed(name, accuracy, ms / 1000) for name, ms, accuracy in rows))
        for node, rows in TABLE_5.items()
    }
    return Terms(tuple(paths(GRAPH)), tables, split)


def measure(quick: bool) -> harness.Outcome:
    """Both plans under both policies over all SLOs."""
    frames = QUICK_FRAMES if quick else FRAMES
    rows: list[dict[str, Any]] = []
    medians_us: dict[str, list[float]] = {"plan": [], "executor": []}
    for split, slo_ms in product(SPLITS, SLOS_MS):
        rows.append(_row(split, slo_ms, frames))
        for name, times_us in (("plan", _times_us), ("executor", _executor_us)):
            medians_us[name] += [median(times_us(TIMED)) for _ in range(ROUNDS)]
    us_per_node = {name: round(min(each), 1) for name, each in medians_us.items()}
    rows = [{**row, **{f"{name}_us_per_node": us for name, us in us_per_node.items()}} for row in rows]
    tight = [row for row in rows if row["slo_ms"] <= 100]
    at_80 = next(row for row in rows if (row["split"], row["slo_ms"]) == ("equal", 80))
    headline = {
        "accuracy_gain": max(row["accuracy_gain"] for row in tight),
        "latency_ratio": max(row["latency_ratio"] for row in rows),
        "better_share_80ms": {node: at_80[f"better_{node}"] for node in SHARES},
        "us_per_node": us_per_node,
    }
    return harness.Outcome(rows, headline, partial(_draw, rows))


def _row(split: Split, slo_ms: int, frames: int) -> dict[str, Any]:
    """One policy at one SLO; the frames are the same for all."""
    rng, query = random.Random(0), terms(split)
    static = plan(query, slo_ms / 1000, Load(), 0.0)
    found = [_frame(query, slo_ms, rng) for _ in range(frames)]
    baseline = {node: choice.variant for node, choice in static.choices.items()}
    accuracy = [_accuracy(detector, node, recogniser) for node, detector, recogniser, _ in found]
    before = [_accuracy(baseline["objects"], node, baseline.get(node, "")) for node, *_ in found]
    took_ms = [ms for *_, ms in found]
    static_ms = [1000 * sum(static.choices[each].takes_s for each in ("objects", node) if each) for node, *_ in found]
    return {
        "split": split,
        "slo_ms": slo_ms,
        "accuracy_static": round(fmean(before), 4),
        "accuracy_replanned": round(fmean(accuracy), 4),
        "accuracy_gain": round(fmean(accuracy) - fmean(before), 4),
        "mean_ms_static": round(fmean(static_ms), 2),
        "mean_ms_replanned": round(fmean(took_ms), 2),
        "latency_ratio": round(fmean(static_ms) / fmean(took_ms), 3),
        "late_share": round(fmean(ms > slo_ms + 1e-6 for ms in took_ms), 4),
        "late_share_static": round(fmean(ms > slo_ms + 1e-6 for ms in static_ms), 4),
        **{f"better_{node}": _better(found, node, baseline[node]) for node in SHARES},
    }


def _frame(query: Terms, slo_ms: int, rng: random.Random) -> tuple[str, str, str, float]:
    """One frame: the node that recognises, both networks, milliseconds; empty words where nothing is seen."""
    frame = plan(query, slo_ms / 1000, Load(), 0.0)
    detector = frame.choices["objects"]
    drawn = rng.random()
    depth = (1 + next(place for place, share in enumerate(ANSWERED) if drawn < share)) / len(ANSWERED)
    detected_s = detector.takes_s * depth
    node = rng.choices([*SHARES, ""], [*SHARES.values(), 1 - sum(SHARES.values())])[0]
    if not node:
        return "", detector.variant, "", 1000 * detected_s
    chosen = replan(frame, {"objects": detected_s}).choices[node]
    return node, detector.variant, chosen.variant, 1000 * (detected_s + chosen.takes_s)


def _accuracy(detector: str, node: str, recogniser: str) -> float:
    """Detection and recognition together; where nothing is seen, detection alone."""
    return ACCURACY["objects", detector] * ACCURACY.get((node, recogniser), 1.0)


def _better(found: Sequence[tuple[str, str, str, float]], node: str, static: str) -> float:
    """Share of a node's frames that got a better network than the static plan's."""
    mine = [recogniser for each, _, recogniser, _ in found if each == node]
    return round(fmean(RANK[node, recogniser] < RANK[node, static] for recogniser in mine), 3)


def _times_us(frames: int) -> list[float]:
    """Microseconds of processor time for each node of a frame, from the first plan to the last node."""
    query, times_us = terms("proportional"), list[float]()
    for _ in range(frames):
        started = time.thread_time()
        frame = plan(query, 0.08, Load(), 0.0)
        frame = replan(frame, {"objects": 0.02})
        replan(frame, {"faces": 0.05})
        times_us.append(1e6 * (time.thread_time() - started) / len(GRAPH))
    return times_us


def _executor_us(frames: int) -> list[float]:
    """The same for all that the executor asks of the planner: a frame arrives, and three nodes begin and end."""
    table, times_us = terms("proportional").tables["faces"], list[float]()
    plans = Replanning(("objects", "track", "faces"), {"objects": table, "faces": table}, {"faces": True})
    for number in range(frames):
        now_s = 0.1 * number
        started = time.thread_time()
        plans.arrived("cam", now_s)
        plans.begins(Start("cam", now_s, now_s + 0.2, False, (), False))
        for node in ("objects", "track", "faces"):
            decision = plans.plan(Step("cam", node, [table.options[0].variant], now_s, now_s + 0.2, 0.0))
            call = Call(decision, Urgency(now_s + 0.2), objects=None if node == "track" else 3)
            plans.ended("cam", node, 0.01, call)
        times_us.append(1e6 * (time.thread_time() - started) / 3)
    return times_us


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    gains, shares = figure.subplots(1, 2)
    for split, style in zip(SPLITS, ("-", "--"), strict=True):
        mine = [row for row in rows if row["split"] == split]
        slos_ms = [row["slo_ms"] for row in mine]
        gains.plot(slos_ms, [100 * row["accuracy_static"] for row in mine], f"k{style}", label=f"static, {split}")
        gains.plot(slos_ms, [100 * row["accuracy_replanned"] for row in mine], f"g{style}", label=f"replanned, {split}")
        for node, colour in (("faces", "#27a"), ("vehicles", "#a52")):
            better = [100 * row[f"better_{node}"] for row in mine]
            shares.plot(slos_ms, better, style, color=colour, label=f"{node}, {split}")
    gains.set_title("accuracy of detection × recognition, %", fontsize=8)
    shares.set_title("frames with a better recogniser than the static plan's, %", fontsize=8)
    for axes in (gains, shares):
        axes.set_xlabel("SLO, ms", fontsize=7)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("replanning", measure, __doc__ or "")
