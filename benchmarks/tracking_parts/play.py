"""One tracker through one recording, in a process of its own: ``play TRACKER MOMENTS.json PLAYED.json``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from operators.frames.frame import Box, Region
from operators.track.tracker import TrackSettings


@dataclass(frozen=True)
class Played:
    """The track of every box of every frame, and the processor time of ``update``."""

    numbers: list[list[int | None]]
    cpu_s: float


def play(tracker: Any, moments: Sequence[Any]) -> Played:
    """Give the tracker all frames in order."""
    numbers, cpu_s, last_s = [], 0.0, moments[0]["media_time_s"] if moments else 0.0
    for moment in moments:
        found = enumerate(moment["found"])
        regions = [Region(i, "detect", Box(*one["box"]), one["label"], one["confidence"]) for i, one in found]
        started_s = time.process_time()
        numbers.append(tracker.update(regions, moment["media_time_s"] - last_s))
        cpu_s += time.process_time() - started_s
        last_s = moment["media_time_s"]
    return Played(numbers, cpu_s)


def made(name: str) -> Any:
    """A tracker with the query's default settings; its libraries are imported here."""
    if name == "own":
        import scipy.optimize  # noqa: F401  # its import is no part of the time per frame

        from operators.track.tracker import KalmanTracker

        return KalmanTracker(TrackSettings())
    from benchmarks.tracking_parts.norfair_tracker import NorfairTracker

    return NorfairTracker(TrackSettings())


if __name__ == "__main__":
    name, given, answered = sys.argv[1:]
    Path(answered).write_bytes(msgspec.json.encode(play(made(name), msgspec.json.decode(Path(given).read_bytes()))))
