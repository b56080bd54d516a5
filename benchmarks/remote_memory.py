"""Memory of four workers that share a backend, against networks of their own: with a small recogniser and a large one.

Each worker runs ``yolox-nano`` and a recogniser over eight streams. The large one is a ResNet-50 on pictures of
64 × 64 pixels, with weights at random, on which memory does not depend. Every page counts once: proportional set sizes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from safetensors.torch import save_file

from benchmarks import harness
from benchmarks.remote_parts.processes import MODES, RECOGNISER, used
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from tests.models import yolox_nano
from tools.architectures.registry import ARCHITECTURES
from tools.export import command as export

WORKERS, FRAMES, QUICK_FRAMES = 4, 24, 4
LARGE, SIDE = "resnet50", 64
CLASSES = ("car", "bus", "truck", "van")
OWN, SHARED, _ = MODES


def measure(quick: bool) -> harness.Outcome:
    """``quick``: two workers and the small recogniser."""
    workers, frames = (2, QUICK_FRAMES) if quick else (WORKERS, FRAMES)
    rows: list[harness.Row] = []
    with tempfile.TemporaryDirectory(prefix="sluice-remote-memory-") as scratch:
        folder = Path(scratch)
        yolox_nano(folder / "models", VIDEOS.parent)
        if not quick:
            _large(folder)
        for recogniser in (RECOGNISER,) if quick else (RECOGNISER, LARGE):
            for mode in (OWN, SHARED):
                run, video = folder / f"{recogniser}-{mode[:3]}", (VIDEOS / CLIPS["street level"]).resolve()
                found = used(run, video, workers, mode, frames, recogniser)
                megabytes = round(found.memory_mb, 1)
                rows.append({"workers": workers, "recogniser": recogniser, "networks": mode, "memory_mb": megabytes})
                print(rows[-1], file=sys.stderr, flush=True)
    return harness.Outcome(
        rows, {f"of own, {name}": share for name, share in _shares(rows).items()}, partial(_draw, rows)
    )


def _large(folder: Path) -> None:
    weights, classes = folder / "weights.safetensors", folder / "classes.txt"
    save_file(ARCHITECTURES[LARGE].build(len(CLASSES)).state_dict(), weights)
    classes.write_text("\n".join(CLASSES), encoding="utf-8")
    told = [
        "--classes",
        classes,
        "--into",
        folder / "models",
        "--size",
        SIDE,
        "--licence",
        "none",
        "--source",
        "random",
    ]
    CliRunner().invoke(export, [LARGE, *map(str, [weights, *told])], catch_exceptions=False)


def _shares(rows: Sequence[harness.Row]) -> dict[str, float]:
    """Memory with a shared backend as a share of that with own networks, by recogniser."""
    by_case = {(row["recogniser"], row["networks"]): row["memory_mb"] for row in rows}
    return {name: round(by_case[name, SHARED] / own, 3) for (name, mode), own in by_case.items() if mode == OWN}


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    axes.barh([f"{row['recogniser']}, {row['networks']}" for row in rows], [row["memory_mb"] for row in rows])
    axes.set_xlabel("memory, MB, all processes")


if __name__ == "__main__":
    harness.run("remote_memory", measure, __doc__ or "")
