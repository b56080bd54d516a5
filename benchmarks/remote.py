"""A backend that workers share against networks of their own: processor time of all processes, memory, frames a second.

Two and four workers run ``yolox-nano`` and ``vehicle-type`` over eight streams each, in turns: with networks of their
own, with those of one ``sluice backend`` on the same machine by shared memory, and by messages alone, as between
machines. An empty call is compared with the detector.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import harness
from benchmarks.remote_parts.calls import empty_call_s, network_s
from benchmarks.remote_parts.processes import DETECTOR, MODES, used
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from tests.models import yolox_nano

WORKERS = (2, 4)
FRAMES, QUICK_FRAMES, ROUNDS = 96, 16, 2
CALLS, RUNS = 4000, 50
OWN, SHARED, MESSAGES = MODES


def measure(quick: bool) -> harness.Outcome:
    """``quick``: two workers, once, over a few frames."""
    frames, rounds, workers = (QUICK_FRAMES, 1, WORKERS[:1]) if quick else (FRAMES, ROUNDS, WORKERS)
    with tempfile.TemporaryDirectory(prefix="sluice-remote-") as scratch:
        folder, numbers = Path(scratch), count()
        catalogue = yolox_nano(folder / "models", VIDEOS.parent)
        video = (VIDEOS / CLIPS["street level"]).resolve()

        def one(workers: int, mode: str) -> harness.Row:
            found = used(folder / f"run{next(numbers)}", video, workers, mode, frames)
            row = {
                "workers": workers,
                "networks": mode,
                "frames": found.frames,
                "processor_ms_per_frame": round(1000 * found.processor_s / found.frames, 2),
                "frames_per_s": round(found.frames / found.wall_s, 2),
                "memory_mb": round(found.memory_mb, 1),
            }
            print(row, file=sys.stderr, flush=True)
            return row

        variants = {(each, mode): partial(one, each, mode) for each in workers for mode in MODES}
        measured = harness.interleaved(variants, rounds)
        call_s = empty_call_s(folder / "calls", CALLS // 10 if quick else CALLS)
        detector_s = asyncio.run(network_s(catalogue, DETECTOR, RUNS))
    rows = [{"round": number, **row} for found in measured.values() for number, row in enumerate(found)]
    headline = {f"{each} workers": _ratios(rows, each) for each in workers}
    empty = {"empty_call_us": round(1e6 * call_s), "of_yolox_nano": round(call_s / detector_s, 3)}
    return harness.Outcome(_with_calls(rows, empty), headline | empty, partial(_draw, rows))


def _with_calls(rows: Sequence[harness.Row], empty: harness.Row) -> list[harness.Row]:
    """The rows, with the empty call in each, so that the file has it."""
    return [{**row, **empty} for row in rows]


def _ratios(rows: Sequence[harness.Row], workers: int) -> dict[str, Any]:
    """Medians of a shared backend's figures, as shares of those of own networks in the same round."""
    found: dict[str, Any] = {}
    for mode in (SHARED, MESSAGES):
        for key in ("processor_ms_per_frame", "memory_mb", "frames_per_s"):
            mine, theirs = ([row[key] for row in rows if _is(row, workers, each)] for each in (mode, OWN))
            found[f"{mode}: {key}"] = round(median(a / b for a, b in zip(mine, theirs, strict=True)), 3)
    return found


def _is(row: harness.Row, workers: int, mode: str) -> bool:
    return bool(row["workers"] == workers and row["networks"] == mode)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    for axes, (key, label) in zip(
        figure.subplots(1, 2),
        [("processor_ms_per_frame", "processor ms a frame, all processes"), ("memory_mb", "memory, MB, all processes")],
        strict=True,
    ):
        names = [f"{workers} × {mode}" for workers in WORKERS for mode in MODES]
        cases = [(workers, mode) for workers in WORKERS for mode in MODES]
        axes.barh(names, [median([row[key] for row in rows if _is(row, *each)] or [0]) for each in cases])
        axes.set_xlabel(label)


if __name__ == "__main__":
    harness.run("remote", measure, __doc__ or "")
