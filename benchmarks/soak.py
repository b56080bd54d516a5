"""Whether anything grows: a whole installation for minutes, the memory of each process, and every frame's outcome.

A real broker, eight RTSP cameras, ``sluice capture`` with its decoders, two workers, ``sluice watch`` and ``sluice
serve`` with somebody who looks at its page, each a process of its own. In the first part of the time each of them is
killed once, without a goodbye, and begins anew. After this warm-up the slope of the low points of each process's memory
is taken, one a minute (Theil and Sen's, which outliers do not move). An hour is committed (``--minutes 60``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Outcome, Row, run
from benchmarks.soak_parts.installation import Installation, installation
from benchmarks.soak_parts.memory import Sample, low_points, mb_per_hour, samples

MINUTES, QUICK_S = 10.0, 25.0
EVERY_S = 5.0
KILLS = 0.3
"""Share of the time in which processes are killed, one after the other."""
WARM_UP = 0.5
"""Share of the time that is not counted."""


def measure(quick: bool, minutes: float = MINUTES) -> Outcome:
    """Rows: one per process and minute, the low point of its memory."""
    seconds = QUICK_S if quick else minutes * 60
    with (
        tempfile.TemporaryDirectory(prefix="sluice-soak-") as scratch,
        installation(Path(scratch), seconds) as running,
    ):
        found = _watch(running, seconds)
        without_outcome = running.finish()
        frames, repeated = running.account.frames(), running.account.repeated()
    slopes = {field: mb_per_hour(found, field, WARM_UP * seconds) for field in ("rss_mb", "uss_mb", "pss_mb")}
    _tell(found, slopes)
    headline = {
        "worst_mb_per_hour": round(max(slopes["rss_mb"].values()), 1),
        "frames_without_outcome": without_outcome,
        "results_repeated": repeated,
        "frames": frames,
        "killed": len(running.processes),
        "minutes": round(seconds / 60, 1),
    }
    return Outcome(_rows(found), headline, partial(_draw, found, WARM_UP * seconds))


def _watch(running: Installation, seconds: float) -> list[Sample]:
    found: list[Sample] = []
    names = list(running.processes)
    kills = [(KILLS * seconds * (place + 1) / len(names), name) for place, name in enumerate(names)]
    started_s = time.monotonic()
    while (passed_s := time.monotonic() - started_s) < seconds:
        for name, each in running.processes.items():
            if each.process.poll() is not None:
                raise SystemExit(f"{name} ended: {each.errors[-2000:]}")
        if kills and passed_s >= kills[0][0]:
            running.kill(kills.pop(0)[1])
        found += samples({name: each.process.pid for name, each in running.processes.items()}, passed_s)
        time.sleep(EVERY_S - (time.monotonic() - started_s) % EVERY_S)
    return found


def _rows(found: Sequence[Sample]) -> list[Row]:
    names = dict.fromkeys(each.process for each in found)
    return [
        each.row() for name in names for each in low_points([one for one in found if one.process == name], "rss_mb")
    ]


def _tell(found: Sequence[Sample], slopes: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{'process':24}{'RSS at the end':>16}{'RSS':>10}{'USS':>10}{'PSS':>10}  (MB, MB/h)")
    last = {each.process: each for each in found}
    for name in slopes["rss_mb"]:
        of = "".join(f"{slopes[field][name]:10.1f}" for field in ("rss_mb", "uss_mb", "pss_mb"))
        print(f"{name:24}{last[name].rss_mb:16.1f}{of}")


def _draw(found: Sequence[Sample], from_s: float, figure: Any) -> None:
    level, change = figure.subplots(1, 2)
    for name in dict.fromkeys(each.process for each in found):
        mine = [each for each in found if each.process == name]
        minutes = [each.time_s / 60 for each in mine]
        level.plot(minutes, [each.rss_mb for each in mine], linewidth=1)
        base = next((each.rss_mb for each in mine if each.time_s >= from_s), mine[-1].rss_mb)
        change.plot(minutes, [each.rss_mb - base for each in mine], label=name, linewidth=1)
    for axes in (level, change):
        axes.axvspan(0, from_s / 60, color="grey", alpha=0.15)
        axes.set(xlabel="minutes (grey: warm-up)")
    level.set(title="resident memory, MB", ylim=(0, None))
    change.set(title="against the end of the warm-up, MB", ylim=(-20, 20))
    change.legend(fontsize=7, ncols=2, loc="lower left")


def _main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    known, sys.argv[1:] = parser.parse_known_args()
    run("soak", partial(measure, minutes=known.minutes), f"{__doc__}\n--minutes N: how long (default {MINUTES:g})")


if __name__ == "__main__":
    _main()
