"""What a worker's look at a frame that came as a JPEG costs, where no more of it is decoded than is looked at.

Frames of a generated street in four sizes, as ``sluice capture`` sends them. *Motion* and *detector* make the picture
that either looks at (320 and 416 pixels across) and the grey one by which movement is measured; *and crops* makes all
of the picture beside, as a frame does in which something is recognised. In turns with it, all of each JPEG is decoded
first and then shrunk. ``ratio`` is processor time over that of decoding everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks import harness
from datasets.street import open_street
from operators.detect.motion import MotionSettings
from operators.frames.changes import thumbnail
from operators.frames.codec import decode_frame, encode_frame
from operators.frames.frame import Frame, frame_of
from operators.frames.jpeg_picture import LOOKED_AT
from operators.wire.schema import FrameHeader, FrameId
from serving.catalogue.cards import ImageInput
from serving.preprocess import batch

SIZES = ((768, 432), (1280, 720), (1920, 1080), (3840, 2160))
LOOKS: Mapping[str, tuple[int, bool]] = {
    "motion": (MotionSettings().width, False),
    "detector": (LOOKED_AT, False),
    "detector and crops": (LOOKED_AT, True),
}
"""Pixels across, and whether something is cut out."""
FRAMES, ROUNDS, QUICK_FRAMES, QUICK_ROUNDS = 20, 9, 2, 1
LEAST, ALL = "as much as is looked at", "everything"
Message = tuple[FrameHeader, bytes]


def measure(quick: bool) -> harness.Outcome:
    """A row for each size and way to look."""
    frames, rounds = (QUICK_FRAMES, QUICK_ROUNDS) if quick else (FRAMES, ROUNDS)
    rows = []
    for width, height in SIZES[:1] if quick else SIZES:
        messages = _messages(width, height, frames)
        for name, (across, crops) in LOOKS.items():
            ways: dict[str, Callable[[], float]] = {
                LEAST: partial(_looked_s, messages, LOOKED_AT, across, crops),
                ALL: partial(_looked_s, messages, None, across, crops),
            }
            found = harness.interleaved(ways, rounds)
            least_s, all_s = (median(found[way]) / frames for way in (LEAST, ALL))
            rows.append(
                {
                    "width": width,
                    "height": height,
                    "look": name,
                    "kib": round(sum(len(data) for _, data in messages) / frames / 1024, 1),
                    "all_ms": round(1e3 * all_s, 3),
                    "cpu_ms": round(1e3 * least_s, 3),
                    "ratio": round(least_s / all_s, 3),
                }
            )
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Processor time over that of decoding everything."""
    return {f"{row['width']}x{row['height']}, {row['look']}": row["ratio"] for row in rows}


def _messages(width: int, height: int, frames: int) -> list[Message]:
    wanted = {"seed": "31", "fps": "1", "duration_s": str(frames), "width": str(width), "height": str(height)}
    shown = open_street(wanted)
    return [encode_frame(frame_of(FrameId("camera", "run", seq), each.image)) for seq, each in enumerate(shown)]


def _looked_s(messages: Sequence[Message], least: int | None, across: int, crops: bool) -> float:
    """Processor seconds of a look at each."""
    began_s = time.thread_time()
    for message in messages:
        _look(decode_frame(*message, least), across, crops)
    return time.thread_time() - began_s


def _look(frame: Frame, across: int, crops: bool) -> None:
    height = round(across * frame.height / frame.width)
    batch(ImageInput(width=across, height=height), [frame.pixels])
    thumbnail(frame.pixels)
    if crops:
        _ = frame.image


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes, names = figure.subplots(), [f"{row['width']}x{row['height']}, {row['look']}" for row in rows]
    for place, (key, label) in enumerate({"all_ms": "everything decoded first", "cpu_ms": LEAST}.items()):
        axes.barh([at + 0.35 * place for at in range(len(rows))], [row[key] for row in rows], 0.33, label=label)
    axes.set_yticks([at + 0.17 for at in range(len(rows))], names, fontsize=8)
    axes.set_xlabel("processor time for each frame, ms")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    harness.run("jpegs", measure, __doc__ or "")
