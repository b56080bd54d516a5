"""Makes contact sheets of objects for a person to label: ``python -m benchmarks.recogniser_parts.sheets --into DIR``.

Writes ``looks.csv``, in which the column ``type`` is empty, and one sheet of pictures per clip and detector. A track is
one row: its number, then its looks. Filled in and stored as ``objects.csv`` the file is what the benchmark reads.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from benchmarks.recogniser_parts.looks import CLIPS, DETECTORS, Look, annotated, by_track, fetch, images, seen, write
from operators.frames.crops import cut
from serving.common.tensors import Image

SIDE = 96
MARGIN = 0.15
SHOWN = 3
"""Looks of a track on its row: the first, the last, and one between them."""
ROWS, COLUMNS = 9, 3
"""Tracks on a sheet."""


def main() -> None:
    """Make all sheets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recogniser_parts.sheets", description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder for looks.csv, sheets and detector weights")
    into = parser.parse_args().into
    models = into / "models"
    if not models.exists():
        fetch("yolox-nano", models)
    every = annotated()
    _draw(every, into)
    for clip in CLIPS:
        for detector in DETECTORS:
            looks = asyncio.run(seen(clip, detector, models))
            _draw(looks, into)
            every += looks
    write(every, into / "looks.csv")


def _draw(looks: Sequence[Look], into: Path) -> None:
    for number, sheet in enumerate(sheets(looks)):
        cv2.imwrite(str(into / f"{looks[0].clip}-{looks[0].detector}-{number}.png"), sheet)


def sheets(looks: Sequence[Look]) -> list[Image]:
    """Pictures with the tracks of one clip and detector."""
    frames, tracks = images(looks), list(by_track(looks).values())
    rows = [row([cut(frames[look.frame], look.box, MARGIN).pixels for look in shown(t)], t[0].track) for t in tracks]
    per_sheet = ROWS * COLUMNS
    return [_grid(rows[start : start + per_sheet]) for start in range(0, len(rows), per_sheet)]


def shown(looks: Sequence[Look]) -> list[Look]:
    """First, middle and last."""
    return [looks[place] for place in sorted({0, len(looks) // 2, len(looks) - 1})][:SHOWN]


def row(crops: Sequence[Image], track: int) -> Image:
    """One track: number and crops, each as it is shaped."""
    strip = np.full((SIDE + 4, 62 + SHOWN * (SIDE + 4), 3), 255, np.uint8)
    cv2.putText(strip, str(track), (2, SIDE // 2), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    for place, crop in enumerate(crops):
        scale = SIDE / max(crop.shape[:2])
        small = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)[:SIDE, :SIDE]
        left = 62 + place * (SIDE + 4)
        strip[2 : 2 + small.shape[0], left : left + small.shape[1]] = small
    return strip


def _grid(rows: Sequence[Image]) -> Image:
    blank = np.full_like(rows[0], 255)
    filled = [*rows, *[blank] * (-len(rows) % COLUMNS)]
    lines = [np.hstack(filled[start : start + COLUMNS]) for start in range(0, len(filled), COLUMNS)]
    return np.vstack(lines)


if __name__ == "__main__":
    main()
