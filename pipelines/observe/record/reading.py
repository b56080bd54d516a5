"""Reads recordings, which may come from anywhere: every file is bounded, and none leads out of the folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from operators.wire.schema import FrameHeader, Result, from_json
from pipelines.observe.record.layout import (
    LARGEST_PICTURE,
    LARGEST_RESULTS,
    MANIFEST,
    MOST_EPISODES,
    MOST_FRAMES,
    MOST_HELD,
    RESULTS,
    Manifest,
    episode_name,
    episode_number,
    picture_name,
)
from serving.errors import BadInput, Malformed

LARGEST_MANIFEST = 1 << 20
MOST_SAID = 5
"""Recordings that a message names."""
MOST_STREAMS = 1000
"""Streams that may be looked ahead in."""


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """A frame as it lies in a recording; ``fault``: why it cannot be used, else it has both of the others."""

    episode: int
    place: int
    """Line of its result, counted from 0."""
    result: Result | None = None
    jpeg: bytes = b""
    fault: str = ""

    @property
    def where(self) -> str:
        return f"{episode_name(self.episode)}/{picture_name(self.place)}"


def header_of(result: Result, captured_at: datetime) -> FrameHeader:
    """The header of a frame whose picture was kept with this result."""
    return FrameHeader(
        stream=result.stream,
        run=result.run,
        seq=result.seq,
        width=result.frame.width,
        height=result.frame.height,
        media_time_s=result.frame.media_time_s,
        captured_at=captured_at,
        encoding="jpeg",
    )


def read_manifest(directory: Path) -> Manifest:
    """A recording's manifest; raises BadInput where the folder is no recording."""
    path = directory / MANIFEST
    try:
        return from_json(_bounded(path, LARGEST_MANIFEST), Manifest)
    except FileNotFoundError:
        inside = ", ".join(str(each) for each in recordings(directory)[:MOST_SAID])
        hint = f": name one of those in it: {inside}" if inside else f": it has no {MANIFEST}, which `--record` writes"
        raise BadInput(f"{directory} is no recording{hint}") from None
    except (OSError, Malformed) as error:
        raise BadInput(f"{path}: cannot be read: {_why(error)}") from None


def recordings(directory: Path) -> list[Path]:
    """Those of several queries, which lie in a folder; none where it cannot be read."""
    with suppress(OSError):
        inside = sorted(each for each in directory.iterdir() if not each.is_symlink())
        return [each for each in inside if (each / MANIFEST).is_file()]
    return []


def episodes(directory: Path) -> list[int]:
    """The numbers of the episodes, the oldest first; raises BadInput."""
    try:
        with os.scandir(directory) as entries:
            found = [episode_number(each.name) for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise BadInput(f"{directory}: cannot be read: {_why(error)}") from None
    return sorted(each for each in found if each is not None)[:MOST_EPISODES]


def streams(directory: Path) -> set[str]:
    """The streams of which there are frames; of many, the first."""
    firsts = (next(frames(directory, episode), None) for episode in episodes(directory))
    names = (each.result.stream for each in firsts if each is not None and each.result is not None)
    return set(islice(dict.fromkeys(names), MOST_STREAMS))


def frames(directory: Path, episode: int) -> Iterator[RecordedFrame]:
    """The frames of an episode in their order, one at a time; one that cannot be read says why."""
    folder = directory / episode_name(episode)
    try:
        lines = _bounded(folder / RESULTS, LARGEST_RESULTS).split(b"\n")
    except FileNotFoundError:
        return  # it has causes alone
    except (OSError, Malformed) as error:
        yield RecordedFrame(episode, 0, fault=f"{RESULTS} {_why(error)}")
        return
    for place, line in enumerate(lines[: MOST_FRAMES + MOST_HELD]):
        if line:
            yield _frame(folder, episode, place, line)


def picture_of(directory: Path, frame: RecordedFrame) -> bytes | None:
    """The frame's JPEG; None where it cannot be read."""
    try:
        return _bounded(directory / frame.where, LARGEST_PICTURE)
    except (OSError, Malformed):
        return None


def _frame(folder: Path, episode: int, place: int, line: bytes) -> RecordedFrame:
    try:
        result = from_json(line, Result)
        return RecordedFrame(episode, place, result, _bounded(folder / picture_name(place), LARGEST_PICTURE))
    except (OSError, Malformed) as error:
        return RecordedFrame(episode, place, fault=_why(error))


def _bounded(path: Path, largest: int) -> bytes:
    """A regular file, and no link, as a whole; raises OSError, or Malformed where it is larger."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Malformed("is no file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise Malformed(f"is larger than {largest >> 20} MiB")
    return data


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
