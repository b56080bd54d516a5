"""Pictures of what has changed: the frame with what was found then, and beside it with what is found now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from operators.annotate.drawing import draw
from operators.frames.codec import FrameError, decode_frame
from operators.wire.schema import Result
from pipelines.observe.record.reading import header_of, picture_of
from pipelines.query.query_file import Query
from pipelines.run.replay.comparison import Worst
from serving.common import files
from serving.common.tensors import Image
from serving.errors import BadInput, SluiceError

MAGENTA = (255, 0, 255)
BAR = 24
"""Pixels of the line that says which is which."""
LEAST_WIDTH = 480
"""Smaller frames are enlarged, pixels."""


def save_all(directory: Path, recording: Path, worst: Sequence[Worst], query: Query) -> list[Path]:
    """Write a picture for each frame, the worst first; raises BadInput where that cannot be."""
    made = []
    for place, each in enumerate(worst, 1):
        was = each.frame.result
        image = _image(recording, each)
        if was is None or image is None:
            continue
        sides = [_side(image, result, each, query) for result in (was, each.after)]
        path = directory / f"{place:02d}-{each.frame.where.replace('/', '-')}"
        encoded, data = cv2.imencode(".jpg", np.hstack([_under(sides[0], "recorded"), _under(sides[1], "replayed")]))
        if not encoded:
            raise SluiceError(f"{path}: the picture cannot become a JPEG")
        files.write(path, bytes(data))
        made.append(path)
    return made


def check_writable(directory: Path) -> None:
    """Make the folder before the work, not after it; raises BadInput."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write pictures to {directory}: {error.strerror}; choose another folder") from None


def _image(recording: Path, worst: Worst) -> Image | None:
    """The frame, read once more; None where it is gone meanwhile."""
    header = header_of(worst.after, worst.after.frame.captured_at)
    data = picture_of(recording, worst.frame)
    try:
        return None if data is None else decode_frame(header, data).image
    except FrameError:
        return None


def _side(image: Image, result: Result, worst: Worst, query: Query) -> Image:
    scale = max(1.0, LEAST_WIDTH / image.shape[1])
    large = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    for each in worst.differences:
        left, top, right, bottom = each.box.pixels(large.shape[1], large.shape[0])
        cv2.rectangle(large, (left - 3, top - 3), (right + 2, bottom + 2), MAGENTA, 2)
    return draw(large, result, hurried=False, layout=query.layout.of(result.stream))


def _under(picture: Image, title: str) -> Image:
    bar = np.full((BAR, picture.shape[1], 3), 40, np.uint8)
    cv2.putText(bar, title, (6, BAR - 7), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return np.vstack([bar, picture])
