"""How many cameras two cores hold: 5 frames a second of each, every one analysed, the 99th percentile within 500 ms.

Cameras are RTSP servers that play three clips of real scenes, of 10 to 12.5 frames a second, over and over; the larger
sizes are scaled up from them. ``motion``, or ``yolox-nano`` on the frames that need it, finds objects, which are
tracked; ``vehicle-type`` names them; all else is as it is by default. The largest number of cameras is sought by short
probes, over ``sluice run`` and over Kafka (``sluice capture``, a broker, one ``sluice worker``), and then held for
``--minutes``. A number holds where no frame is lost, 99 % of the results are there within 500 ms of the decoded
picture, and no camera stands still. One that does not hold in the end is followed by fewer.

``cpu_ms`` is the processor time of all of Sluice's processes for each frame, ``decode_ms`` that of decoding the same
clips alone, ``share`` the part of two cores that Sluice takes. Cameras and the broker run on the same cores and are
not in it. ``memory_mb`` counts what processes share once. Rows are kept in ``results/capacity.partial.jsonl`` until
all are there: a run that was broken off goes on with the rows that are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.capacity_parts.cameras import Cameras, cameras
from benchmarks.capacity_parts.probe import Held, Start, over_kafka, over_run, probe
from benchmarks.capacity_parts.search import fewer, largest
from benchmarks.tracking_parts.recordings import models
from benchmarks.whole_parts.plain import DETECTOR

SIZES: Mapping[tuple[int, int], int] = {(768, 432): 40, (1280, 720): 16, (1920, 1080): 8}
"""The goal over ``run``, with which the search begins."""
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    "motion": {"model": "motion"},
    DETECTOR: {"model": DETECTOR, "when": "needed"},
}
TRANSPORTS = ("run", "kafka://")
MINUTES, PROBE_S, QUICK_S = 10.0, 12.0, 3.0
MOST, ATTEMPTS, CORES = 128, 4, 2
PARTIAL = harness.RESULTS / "capacity.partial.jsonl"


@dataclass(frozen=True)
class Case:
    """One row."""

    size: tuple[int, int]
    detector: str
    transport: str

    @property
    def name(self) -> dict[str, Any]:
        """The keys that tell it from others."""
        width, height = self.size
        return {"transport": self.transport, "detector": self.detector, "width": width, "height": height}


def measure(quick: bool, minutes: float = MINUTES, only: str = "") -> harness.Outcome:
    """Every case that has no row yet; ``quick``: two cameras for a moment."""
    cases = [Case(*each) for each in product(SIZES, DETECTORS, TRANSPORTS)]
    rows = [] if quick else _kept(minutes)
    wanted = [each for each in cases if only in _label(each.name) and not _found(rows, each)]
    with tempfile.TemporaryDirectory(prefix="sluice-capacity-") as scratch:
        folder = Path(scratch)
        models(DETECTOR, folder / "models")
        for row in _measured(wanted[:1] if quick else wanted, folder, quick, minutes * 60):
            rows.append(row)
            if not quick:
                _keep(row)
    rows.sort(key=lambda row: [_found([row], each) for each in cases], reverse=True)
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def _measured(cases: Sequence[Case], folder: Path, quick: bool, seconds: float) -> Iterator[harness.Row]:
    for size, alike in groupby(cases, key=lambda case: case.size):
        with cameras(folder, size, 60 if quick else 2 * seconds + 240) as seen:
            for case in alike:
                start = (over_run if case.transport == "run" else over_kafka)(folder / "models")
                run = partial(_probed, case, seen, start, folder)
                held = run(QUICK_S, 2) if quick else _most(run, SIZES[size], seconds)
                yield _row(case, seen, held, QUICK_S if quick else seconds)


def _most(run: Any, guess: int, seconds: float) -> Held:
    """The most that hold, as the long run found them."""
    count = largest(lambda number: run(PROBE_S, number).fault is None, guess, MOST)
    for _ in range(ATTEMPTS):
        held: Held = run(seconds, max(1, count))
        if held.fault is None:
            break
        count = fewer(held.cameras)
    return held


def _probed(case: Case, seen: Cameras, start: Start, folder: Path, seconds: float, count: int) -> Held:
    held = probe(folder, seen.query(count, DETECTORS[case.detector]), start, seconds)
    print(case.name, held, file=sys.stderr, flush=True)
    return held


def _row(case: Case, seen: Cameras, held: Held, seconds: float) -> dict[str, Any]:
    return {
        **case.name,
        "cameras": held.cameras if held.fault is None else 0,
        "seconds": round(seconds),
        "fault": held.fault or "",
        "p50_ms": held.latencies.p50_ms,
        "p99_ms": held.latencies.p99_ms,
        "cpu_ms": held.cpu_ms,
        "decode_ms": round(seen.decode_ms, 2),
        "decode_share": round(seen.decode_ms / held.cpu_ms, 3) if held.cpu_ms else "",
        "share": round(held.cores / CORES, 3),
        "memory_mb": held.memory_mb,
        "memory_mb_per_camera": round(held.memory_mb / held.cameras, 1),
        "start_s": held.start_s,
    }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By transport, detector and size: cameras that were held; the goal where there is one."""
    return {_label(row): {"cameras": row["cameras"], "goal": _goal(row)} for row in rows}


def _goal(row: harness.Row) -> int | None:
    return SIZES[int(row["width"]), int(row["height"])] if row["transport"] == "run" else None


def _label(row: harness.Row) -> str:
    return f"{row['transport']}, {row['detector']}, {row['width']}×{row['height']}"


def _found(rows: Sequence[harness.Row], case: Case) -> bool:
    return any(case.name.items() <= row.items() for row in rows)


def _kept(minutes: float) -> list[harness.Row]:
    """Rows of a run that was broken off."""
    lines = PARTIAL.read_text(encoding="utf-8").splitlines() if PARTIAL.exists() else []
    return [row for row in map(json.loads, lines) if row["seconds"] == round(minutes * 60)]


def _keep(row: harness.Row) -> None:
    with PARTIAL.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    count, cost, memory = figure.subplots(1, 3, sharey=True)
    names = [_label(row) for row in rows]
    count.barh(names, [row["cameras"] for row in rows], color="#2a7")
    for place, row in enumerate(rows):
        if goal := _goal(row):
            count.plot([goal, goal], [place - 0.4, place + 0.4], color="tab:red", linewidth=1.5)
        count.annotate(f" {row['cameras']}", (row["cameras"], place), va="center", fontsize=7)
    count.set_title("cameras that are held (red: goal)", fontsize=8)
    cost.barh(names, [row["cpu_ms"] for row in rows], color="#bbb", label="all of Sluice")
    cost.barh(names, [row["decode_ms"] for row in rows], height=0.4, color="#2a7", label="decoding alone")
    cost.set_title("processor time of a frame, ms", fontsize=8)
    cost.legend(fontsize=6)
    memory.barh(names, [row["memory_mb_per_camera"] for row in rows], color="#79c")
    memory.set_title("memory for each camera, MB", fontsize=8)
    count.invert_yaxis()
    for axes in (count, cost, memory):
        axes.tick_params(labelsize=6)
        axes.spines[["top", "right"]].set_visible(False)


def _main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--only", default="")
    known, sys.argv[1:] = parser.parse_known_args()
    more = f"--minutes N: how long they are held (default {MINUTES:g}); --only TEXT: rows with TEXT in their names"
    harness.run("capacity", partial(measure, minutes=known.minutes, only=known.only), f"{__doc__}\n{more}")
    if not known.only and "--quick" not in sys.argv:
        PARTIAL.unlink(missing_ok=True)


if __name__ == "__main__":
    _main()
