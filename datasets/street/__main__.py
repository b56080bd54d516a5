"""Writes a clip of the generated street: ``python -m datasets.street --out street.mp4 --seed 1 --duration-s 20``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from datasets.street import StreetFrame, open_street
from datasets.street.options import NAMES
from datasets.video import write_mp4


def main(arguments: list[str] | None = None) -> int:
    """Write the clip, and its truth where asked for; returns the exit status."""
    given = parser().parse_args(arguments)
    options: Mapping[str, str] = {name: text for name in NAMES if (text := getattr(given, name)) is not None}
    try:
        frames = open_street(options)
        with ExitStack() as files:
            truth = files.enter_context(given.truth.open("w", encoding="utf-8")) if given.truth else None
            count = write_mp4(given.out, told(frames, truth), float(options.get("fps", "12")), given.quality)
    except (ValueError, OSError) as error:
        print(f"street: error: {error}", file=sys.stderr)
        return 2
    print(f"{given.out}: {count} frames")
    return 0


def parser() -> argparse.ArgumentParser:
    """The arguments: every option of the street, and where to write."""
    made = argparse.ArgumentParser(prog="python -m datasets.street", description=__doc__)
    made.add_argument("--out", type=Path, required=True, help="the MP4 to write")
    made.add_argument("--truth", type=Path, help="also write the true objects, one JSON line per frame")
    made.add_argument("--quality", type=int, default=28, help="x264's CRF; smaller is better and larger (default 28)")
    for name in NAMES:
        made.add_argument(f"--{name.replace('_', '-')}", dest=name, help=f"the street's option {name}")
    return made


def told(frames: Iterator[StreetFrame], truth: TextIO | None) -> Iterator[NDArray[np.uint8]]:
    """The pictures; as each passes, its objects are written down."""
    for seq, frame in enumerate(frames):
        if truth is not None:
            objects = [asdict(item) for item in frame.objects]
            line = {"seq": seq, "media_time_s": round(frame.media_time_s, 4), "objects": objects}
            truth.write(json.dumps(line) + "\n")
        yield frame.image


if __name__ == "__main__":
    sys.exit(main())
