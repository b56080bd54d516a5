"""What looking ahead saves in recordings: ``sluice run`` with ``when: needed``, live and with frames that wait.

The first frames of each clip go through ``yolox-nano``, each run in a process of its own, by turns: ``every frame``
(``when: always``), ``live`` (each frame is decided about as it comes, which ``overload: drop_oldest`` enforces; nothing
is dropped) and ``look-ahead``. ``cpu_ms`` is processor time of the whole process for each frame after the first, audits
included; ``detected`` the share of frames on which the detector ran, audits left out; ``agreement`` that of the objects
with those of ``every frame``: in each frame matched / all, where unmatched objects within .15 of the least confidence
are left out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from benchmarks.harness import Outcome, Row, interleaved, run
from benchmarks.run_parts.sluice_run import sluice_run
from benchmarks.skipping import CLIPS, LEAST, MODEL, VIDEOS
from benchmarks.tracking_parts.recordings import models
from benchmarks.whole_parts.compared import Lines, object_agreement
from operators.detect.agreement import UNSURE

ALWAYS, LIVE, AHEAD = "every frame", "live", "look-ahead"
POLICIES: Mapping[str, tuple[str, str]] = {
    ALWAYS: ("always", "block"),
    LIVE: ("needed", "drop_oldest"),
    AHEAD: ("needed", "block"),
}
"""By name: ``when`` of the detector, and ``overload`` of the stream."""
FRAMES, QUICK_FRAMES, ROUNDS = 300, 30, 2


class Ran(NamedTuple):
    """One run."""

    cpu_s: float
    """But for its start, as a run over the first frame takes it."""
    detected: float
    audits: int
    lines: Lines


def measure(quick: bool) -> Outcome:
    """One row for each clip and policy; ``quick``: the beginning of one clip, once."""
    shown = dict(list(CLIPS.items())[1:2]) if quick else CLIPS
    with tempfile.TemporaryDirectory(prefix="sluice-look-ahead-") as scratch:
        folder = Path(scratch)
        models(MODEL, folder / "models")
        frames, rounds = (QUICK_FRAMES, 1) if quick else (FRAMES, ROUNDS)
        rows = [row for name in shown for row in _rows(name, folder, frames, rounds)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Processor time of looking ahead as a share of that of the live rule, and how the agreement differs."""
    by = {(row["clip"], row["policy"]): row for row in rows}
    clips = list(dict.fromkeys(row["clip"] for row in rows))
    pairs = {clip: (by[clip, AHEAD], by[clip, LIVE]) for clip in clips}
    return {
        "cpu_share": {clip: round(ours["cpu_ms"] / live["cpu_ms"], 3) for clip, (ours, live) in pairs.items()},
        "agreement_gained": round(fmean(ours["agreement"] - live["agreement"] for ours, live in pairs.values()), 4),
    }


def _rows(name: str, folder: Path, frames: int, rounds: int) -> Iterator[Row]:
    clip = VIDEOS / CLIPS[name]
    found = interleaved({policy: partial(_ran, folder, clip, policy, frames) for policy in POLICIES}, rounds)
    truth = found[ALWAYS][0]
    for policy, runs in found.items():
        row = {
            "clip": name,
            "policy": policy,
            "frames": len(truth.lines),
            "runs": len(runs),
            "cpu_ms": round(1000 * median(each.cpu_s for each in runs) / (len(truth.lines) - 1), 2),
            "detected": round(fmean(each.detected for each in runs), 4),
            "audits": round(fmean(each.audits for each in runs), 1),
            "agreement": round(fmean(object_agreement(truth.lines, each.lines, LEAST + UNSURE) for each in runs), 4),
        }
        print(row, file=sys.stderr, flush=True)
        yield row


def _ran(folder: Path, clip: Path, policy: str, frames: int) -> Ran:
    when, overload = POLICIES[policy]
    stream = {"id": "camera", "uri": str(clip.resolve()), "overload": overload}
    node = {"name": "detect", "task": "detect", "model": MODEL, "when": when}
    asked = {"version": 1, "name": "look-ahead", "slo_ms": 60_000, "streams": [stream], "nodes": [node]}
    options = ["--models", str(folder / "models"), "--limit"]
    start, done = (sluice_run(folder, asked, *options, str(limit)) for limit in (1, frames))
    told = done.report["audits"]
    return Ran(
        done.cpu_s - start.cpu_s,
        1 - sum(each["shortcut_share"] for each in told),
        sum(each["audits"] for each in told),
        done.lines,
    )


def _draw(rows: Sequence[Row], figure: Any) -> None:
    clips = list(dict.fromkeys(row["clip"] for row in rows))
    axes = figure.subplots()
    for place, policy in enumerate(POLICIES):
        heights = [row["cpu_ms"] for row in rows if row["policy"] == policy]
        axes.bar([n + 0.27 * (place - 1) for n in range(len(clips))], heights, 0.25, label=policy)
    axes.set(ylabel="processor time for a frame, ms", xticks=range(len(clips)), xticklabels=clips)
    axes.legend(fontsize=8)


if __name__ == "__main__":
    run("look_ahead", measure, __doc__)
