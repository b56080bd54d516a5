"""What a process takes until it has its first result: two networks, one frame of a clip.

``sluice run``  the command, with ``yolox-nano`` and ``vehicle-type``, to the end of a run over one frame.
``libraries``   a script of a few lines that imports the same libraries (NumPy, OpenCV, PyAV, ONNX Runtime), opens the
                same networks, decodes one frame and runs each network once: less than this no program can take.
``import``      ``import sluice`` and nothing else; ``python`` an interpreter that starts and ends.

``cpu_s`` is the processor time of the process and its children, ``wall_s`` the time that its user waits. Each is a
process of its own; the ways take turns. What Python has compiled is kept between them, as in an installation.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import harness
from benchmarks.pipeline_parts.workload import clip
from benchmarks.run_parts.sluice_run import processor_s, sluice_run
from benchmarks.tracking_parts.recordings import models
from pipelines.environment import catalogue

RUN, LIBRARIES, IMPORT, PYTHON = "sluice run", "libraries", "import", "python"
DETECTOR, RECOGNISER = "yolox-nano", "vehicle-type"
ROUNDS, QUICK_ROUNDS = 15, 2
BARE = """
import sys
import av, cv2, numpy, onnxruntime
clip, *paths = sys.argv[1:]
with av.open(clip) as video:
    image = next(video.decode(video=0)).to_ndarray(format="bgr24")
for path in paths:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.get_inputs()
    height, width = wanted.shape[2:]
    planes = cv2.resize(image, (width, height)).transpose(2, 0, 1)[None].astype(numpy.float32)
    session.run(None, {wanted.name: planes})
"""

Way = Callable[[], tuple[float, float]]


def measure(quick: bool) -> harness.Outcome:
    """All ways by turns."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="sluice-startup-") as scratch:
        ways = _ways(Path(scratch))
        for way in ways.values():
            way()  # compiles what is imported, reads it from the disk
        found = harness.interleaved(ways, QUICK_ROUNDS if quick else ROUNDS)
    rows = [
        {"way": way, "round": number, "cpu_s": round(cpu_s, 3), "wall_s": round(wall_s, 3)}
        for way, runs in found.items()
        for number, (cpu_s, wall_s) in enumerate(runs)
    ]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Medians by way, and how many times the libraries' own time a run takes."""
    medians = {way: _medians(rows, way) for way in dict.fromkeys(row["way"] for row in rows)}
    return {**medians, "run_over_libraries": round(medians[RUN]["cpu_s"] / medians[LIBRARIES]["cpu_s"], 2)}


def _medians(rows: Sequence[harness.Row], way: str) -> dict[str, float]:
    return {key: round(median(row[key] for row in rows if row["way"] == way), 3) for key in ("cpu_s", "wall_s")}


def _ways(folder: Path) -> Mapping[str, Way]:
    models(DETECTOR, folder / "models")
    known = catalogue([folder / "models"])
    networks = [str(known.find(name).path) for name in (DETECTOR, RECOGNISER)]
    return {
        RUN: partial(_run, folder),
        LIBRARIES: partial(_timed, [sys.executable, "-c", BARE, str(clip()), *networks]),
        IMPORT: partial(_timed, [sys.executable, "-c", "import sluice"]),
        PYTHON: partial(_timed, [sys.executable, "-c", ""]),
    }


def _run(folder: Path) -> tuple[float, float]:
    query = {
        "version": 1,
        "name": "startup",
        "slo_ms": 1000,
        "streams": [{"id": "clip", "uri": str(clip())}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": DETECTOR},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": "type", "task": "recognise", "input": "track", "model": RECOGNISER},
        ],
    }
    run = sluice_run(folder, query, "--models", str(folder / "models"), "--limit", "1")
    if len(run.lines) != 1:
        raise RuntimeError(f"{len(run.lines)} results of one frame")
    return run.cpu_s, run.wall_s


def _timed(command: Sequence[str]) -> tuple[float, float]:
    started_s = time.perf_counter()
    return processor_s(command), time.perf_counter() - started_s


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    ways = list(dict.fromkeys(row["way"] for row in rows))
    for shift, key, colour in ((-0.2, "cpu_s", "#2a7"), (0.2, "wall_s", "#bbb")):
        heights = [_medians(rows, way)[key] for way in ways]
        axes.bar([place + shift for place in range(len(ways))], heights, 0.4, color=colour, label=key)
    axes.set_xticks(range(len(ways)), ways)
    axes.set_ylabel("seconds to the first result")
    axes.legend()


if __name__ == "__main__":
    harness.run("startup", measure, __doc__ or "")
