"""What was said, as rows over time, figures for each event, and a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.fleet_parts.installation import NAMES
from benchmarks.fleet_parts.story import Told
from operators.wire.schema import FleetPlacement

STEP_S = 5.0
COLOURS = dict(zip(NAMES, ("#2a7", "#69c", "#c93", "#a5c"), strict=True))


def rows(told: Told) -> list[dict[str, Any]]:
    """A row every five seconds: what was planned for each backend, what it served, and what was in time."""
    names = {load.id: load.name for _, load in told.loads if load.kind == "backend"}
    found = []
    end_s = told.events["end"]
    for step in range(int(end_s // STEP_S)):
        low, high = step * STEP_S, (step + 1) * STEP_S
        frames = [result for at_s, result in told.results if low <= at_s < high]
        plans = [plan for at_s, plan in told.placements if at_s < high]
        row: dict[str, Any] = {
            "s": high,
            "frames": len(frames),
            "in_time": round(sum(each.plan.deadline_met for each in frames) / len(frames), 4) if frames else "",
            "epoch": plans[-1].epoch if plans else "",
            "leader": sorted({plan.leader for _, plan in told.placements}).index(plans[-1].leader) if plans else "",
            "wanted": sum(each.wanted for each in plans[-1].wanted) if plans else "",
            "serving": serving(plans[-1]) if plans else "",
        }
        for name in NAMES:
            planned = [each for each in (plans[-1].backends if plans else []) if each.name == name]
            row[f"planned_{name}"] = round(sum(session.rate for each in planned for session in each.sessions), 2)
            served = [load for at_s, load in told.loads if low <= at_s < high and names.get(load.id) == name]
            rate = sum(session.served for load in served for session in load.sessions) / max(1, len(served))
            row[f"served_{name}"] = round(rate, 2)
        found.append(row)
    return found


def headline(told: Told, every_s: float) -> dict[str, Any]:
    """One outcome each, and the share in time from two epochs after each event on."""
    seen = Counter((each.query, each.stream, each.seq) for _, each in told.results)
    found: dict[str, Any] = {
        "frames": told.sent,
        "without_outcome": told.sent - len(seen),
        "twice": sum(seen.values()) - len(seen),
        "epochs": len(told.placements),
        "epochs_ascend": all(before.epoch < after.epoch for (_, before), (_, after) in pairwise(told.placements)),
        "leaders": len({plan.leader for _, plan in told.placements}),
        "serving_least": min(serving(plan) for at_s, plan in told.placements if at_s >= 0),
    }
    for (event, at_s), (_, next_s) in pairwise(told.events.items()):
        found[f"in_time_after_{event.replace(' ', '_')}"] = in_time(told, at_s + 2 * every_s, next_s)
        found[f"in_time_at_once_{event.replace(' ', '_')}"] = in_time(told, at_s, at_s + 2 * every_s)
    return found


def serving(plan: FleetPlacement) -> int:
    """Backends that serve something."""
    return sum(bool(each.sessions) for each in plan.backends)


def in_time(told: Told, low_s: float, high_s: float) -> float:
    frames = [each for at_s, each in told.results if low_s <= at_s < high_s]
    return round(sum(each.plan.deadline_met for each in frames) / max(1, len(frames)), 4)


def draw(figure: Any, told: Told, found: Sequence[dict[str, Any]]) -> None:
    """What is planned, what is served, and what is in time, one below the other."""
    planned, served, late = figure.subplots(3, sharex=True)
    at = [row["s"] for row in found]
    for axes, what, title in ((planned, "planned", "planned, items/s"), (served, "served", "served, items/s")):
        base = [0.0] * len(at)
        for name, colour in COLOURS.items():
            top = [below + row[f"{what}_{name}"] for below, row in zip(base, found, strict=True)]
            axes.fill_between(at, base, top, color=colour, label=f"backend {name}", step="pre")
            base = top
        axes.set_ylabel(title)
    planned.legend(loc="upper left", ncol=4, fontsize="small")
    late.plot(at, [row["in_time"] if row["in_time"] != "" else None for row in found], color="#333")
    late.axhline(0.97, color="#bbb", linestyle=":")
    late.set_ylim(0, 1.02)
    late.set_ylabel("share in time")
    late.set_xlabel("seconds")
    for axes in (planned, served, late):
        for event, when_s in told.events.items():
            if event not in ("start", "end"):
                axes.axvline(when_s, color="#c33", linewidth=0.8)
                if axes is late:
                    axes.text(when_s + 1, 0.05, event, fontsize="x-small", color="#c33")
