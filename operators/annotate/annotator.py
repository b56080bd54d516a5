"""Annotated video, whose frames stand at their media time, or snapshots: for people to look at what was found."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import av
import cv2
import numpy as np

from operators.annotate.drawing import draw
from operators.annotate.target import VIDEO_SUFFIXES, of_streams
from operators.frames.frame import Frame
from operators.frames.mask import Mask, masks_of
from operators.wire.schema import Result
from operators.zones.layout import NOTHING, Layout
from serving.common.files import not_removed, open_alone
from serving.common.tensors import Image
from serving.errors import BadInput, SluiceError

QUEUED_FRAMES = 8


@dataclass(frozen=True)
class Overlay:
    """Drawn beside the objects that were found."""

    masks: Sequence[Mask] = ()
    unhurried: frozenset[str] = frozenset()
    """Streams whose frames wait for the analysis: none of theirs is late."""
    layout: Layout = NOTHING
    """Zones and lines."""


PLAIN = Overlay()
"""Nothing else."""


class Annotator:
    """Draws and writes in a thread of its own; a run waits when writing is slower than analysing.

    ``observe`` takes the pictures and never raises. ``write`` takes results as other sinks do, and is where a full
    disk shows: so a run ends with one clear line instead of a failure of every frame.
    """

    def __init__(self, target: Path, streams: Sequence[str], look: Overlay = PLAIN) -> None:
        """``target``: a video (.mp4, .mkv, .mov), one for each stream if there are several, or a directory for
        snapshots of the frames in which something was found. Raises BadInput where it cannot be written."""
        self._target, self._paths, self._look = target, of_streams(target, streams), look
        self._video = _is_video(target)
        self._writers: dict[str, PictureWriter] = {}
        self._queue: queue.Queue[tuple[Frame, Result] | None] = queue.Queue(QUEUED_FRAMES)
        self._error: SluiceError | None = None
        self._thread = threading.Thread(target=self._work, name="annotate", daemon=True)
        self._thread.start()

    def observe(self, frame: Frame, result: Result) -> None:
        """Take a picture with its result; waits while earlier ones are being written."""
        self._queue.put((frame, result))

    def write(self, result: Result) -> None:
        """Raises SluiceError if pictures can no longer be written; a result without picture adds nothing."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Write what is waiting and close the files; raises SluiceError where that failed."""
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            if self._error is None:
                self._guarded(self._add, *item)
        for writer in self._writers.values():
            self._guarded(writer.close)

    def _guarded(self, action: Callable[..., None], *arguments: object) -> None:
        """Write pictures; after an error they are taken and thrown away, so that no caller waits for ever."""
        try:
            action(*arguments)
        except SluiceError as error:
            self._error = self._error or error
        except OSError as error:
            self._error = self._error or SluiceError(f"cannot write {self._target}: {error.strerror}")
        except Exception as error:
            said = f"cannot write {self._target}: {type(error).__name__}: {error}"
            self._error = self._error or SluiceError(said)

    def _add(self, frame: Frame, result: Result) -> None:
        if frame.stream not in self._writers:
            path = self._paths[frame.stream]
            self._writers[frame.stream] = VideoWriter(path) if self._video else SnapshotWriter(path)
        masks = masks_of(self._look.masks, frame.stream)
        hurried, layout = frame.stream not in self._look.unhurried, self._look.layout.of(frame.stream)
        drawn = draw(frame.image, result, masks, hurried, layout)
        self._writers[frame.stream].add(drawn, result)


def _is_video(target: Path) -> bool:
    """Whether the target is a video rather than a directory; raises BadInput for anything else."""
    if target.is_dir() or not target.suffix:
        parent = target if target.is_dir() else target.parent
    elif target.suffix.lower() in VIDEO_SUFFIXES:
        parent = target.parent
    else:
        allowed = ", ".join(VIDEO_SUFFIXES)
        raise BadInput(f"cannot annotate to {target}: give a video ({allowed}) or a directory for snapshots")
    if not parent.is_dir():
        raise BadInput(f"cannot write {target}: there is no directory {parent}")
    if not os.access(parent, os.W_OK):
        raise BadInput(f"cannot write {target}: no permission to write in {parent}")
    return not target.is_dir() and bool(target.suffix)


TIME_BASE = Fraction(1, 1000)
RESTART_GAP_MS = 40
"""Time between two capture runs in one video; the media time of each begins at 0."""
JPEG_QUALITY = 90
ENCODERS = ("libx264", "mpeg4")
"""Encoders in order of preference; builds of FFmpeg without GPL parts lack the first."""
IN_PARTS = {"movflags": "hybrid_fragmented+delay_moov", "frag_duration": "2000000"}
"""MP4 and MOV get their index when they are closed. Until then it stands in parts of 2 s (here in microseconds): a
process that is killed leaves a video that plays."""


class PictureWriter(Protocol):
    """Takes the drawn pictures of one stream in order; raises OSError where they cannot be written."""

    def add(self, image: Image, result: Result) -> None:
        """Write one picture."""

    def close(self) -> None:
        """Finish the file."""


class VideoWriter:
    """H.264 (MPEG-4 part 2 where there is no such encoder) of the first picture's size, made even, 2 at least."""

    def __init__(self, path: Path) -> None:
        self._file = VideoFile(path)
        self._container = av.open(self._file, "w", VIDEO_SUFFIXES[path.suffix.lower()], options=dict(IN_PARTS))
        self._stream: av.VideoStream | None = None
        self._last_ms = -1
        self._run = ""
        self._offset_ms = 0

    def add(self, image: Image, result: Result) -> None:
        if self._stream is None:
            self._stream = self._open(image)
        size = (self._stream.width, self._stream.height)
        if image.shape[1] - image.shape[1] % 2 != size[0] or image.shape[0] - image.shape[0] % 2 != size[1]:
            image = _within(image, size)
        picture = av.VideoFrame.from_ndarray(image[: size[1], : size[0]], format="bgr24")
        picture.pts, picture.time_base = self._time_ms(result), TIME_BASE
        self._container.mux(self._stream.encode(picture))

    def close(self) -> None:
        with self._file.opened, self._container:
            if self._stream is not None:
                self._container.mux(self._stream.encode())

    def _open(self, image: Image) -> av.VideoStream:
        stream = self._container.add_stream(_encoder(), rate=25)
        stream.width, stream.height = (max(side // 2 * 2, 2) for side in (image.shape[1], image.shape[0]))
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = TIME_BASE
        stream.options = {"preset": "veryfast", "crf": "23"} if stream.name == "libx264" else {"qscale": "4"}
        return stream

    def _time_ms(self, result: Result) -> int:
        """Return the picture's time in the video, which always rises, also over runs."""
        media_ms = round(result.frame.media_time_s * 1000)
        if result.run != self._run:
            self._run = result.run
            self._offset_ms = 0 if self._last_ms < 0 else self._last_ms + RESTART_GAP_MS - media_ms
        self._last_ms = max(media_ms + self._offset_ms, self._last_ms + 1)
        return self._last_ms


class VideoFile:
    """The file of a video, until the disk is full: then it ends with its last whole part, and stays as it is."""

    def __init__(self, path: Path) -> None:
        self._path, self.opened = path, open_alone(path, "pictures")
        self.seek, self.tell, self.seekable = self.opened.seek, self.opened.tell, self.opened.seekable
        self._full = False

    def write(self, data: bytes) -> int:
        """Write all of it, or nothing any more; raises OSError, once."""
        left = memoryview(b"" if self._full else data)
        try:
            not_removed(self.opened, self._path)
            while left:
                left = left[self.opened.write(left) :]
        except OSError:
            self._full = True
            with suppress(OSError):
                if self._path.suffix.lower() != ".mkv":
                    self.opened.truncate(whole_parts(self._path))
            raise
        return len(data)


def whole_parts(path: Path) -> int:
    """The bytes of an MP4 or MOV up to the end of its last whole part: half an index makes all of it unreadable."""
    place, whole, size_bytes = 0, 0, path.stat().st_size
    with path.open("rb") as file:
        while len(head := file.read(16)) >= 8:
            length = int.from_bytes(head[:4])
            length = int.from_bytes(head[8:]) if length == 1 else length
            place += length
            if not length or place > size_bytes:
                break
            whole = whole if head[4:8] == b"moof" else place  # the index of the pictures behind it
            file.seek(place)
    return whole


class SnapshotWriter:
    """A JPEG for every frame in which something was found: ``<stream>-<seq>.jpg``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def add(self, image: Image, result: Result) -> None:
        if not result.objects:
            return
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        path = self._directory / f"{result.stream}-{result.seq:06d}.jpg"
        try:
            path.write_bytes(data.tobytes())
        except OSError:
            path.unlink(missing_ok=True)  # half a picture is none
            raise

    def close(self) -> None:
        """Do nothing: no file is open."""


def _within(image: Image, size: tuple[int, int]) -> Image:
    """A picture of another size as a whole, between black borders where its shape is another one."""
    width, height = size
    scale = min(width / image.shape[1], height / image.shape[0])
    across, down = (max(1, round(scale * side)) for side in image.shape[1::-1])
    scaled = cv2.resize(image, (across, down), interpolation=cv2.INTER_AREA)
    left, top = (width - across) // 2, (height - down) // 2
    shown = np.zeros((height, width, 3), np.uint8)
    shown[top : top + down, left : left + across] = scaled
    return shown


def _encoder() -> str:
    for name in ENCODERS[:-1]:
        with suppress(ValueError):  # av.codec.UnknownCodecError
            av.codec.Codec(name, "w")
            return name
    return ENCODERS[-1]
