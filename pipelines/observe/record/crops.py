"""Crops of the objects in a recording, in folders by what was said of them: to be sorted by hand, and learnt from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import cv2

from operators.frames.codec import FrameError, decode_frame
from operators.frames.crops import cut
from operators.wire.result import UNKNOWN
from operators.wire.schema import Object, Result
from pipelines.observe.record.reading import RecordedFrame, episodes, frames, header_of, read_manifest
from serving.common import files
from serving.common.explain import choices
from serving.common.tensors import Image
from serving.errors import BadInput

MOST_CROPS = 20_000
MOST_TRACKS = 100_000
"""Tracks whose crops are counted; those of further ones are left out."""
LEAST_SIDE = 16
"""Pixels: of smaller things nothing can be learnt."""
QUALITY = 95
LONGEST = 64
"""Characters of a folder's name, and of a stream's in a file's."""


@dataclass(frozen=True, slots=True)
class WantedCrops:
    attribute: str | None
    """Folders are called by this answer; None: by the detector's label."""
    margin: float
    """Share of a box that is added on every side."""
    per_track: int
    """The most crops of one object."""
    apart_s: float
    """Media time between two of them."""


@dataclass(slots=True)
class SavedCrops:
    by_folder: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    """Frames."""
    full: bool = False
    """Whether there would have been more."""


def save_crops(recording: Path, into: Path, wanted: WantedCrops) -> SavedCrops:
    """Write crops as ``into/LABEL/STREAM_TRACK_NUMBER.jpg``; raises BadInput where a folder cannot be used."""
    read_manifest(recording)
    _begin(into)
    if wanted.attribute is not None:
        _check(recording, wanted.attribute)
    saved, tracks = SavedCrops(), _Tracks(wanted)
    for episode in episodes(recording):
        for frame in frames(recording, episode):
            if saved.by_folder.total() >= MOST_CROPS:
                saved.full = True
                return saved
            _save_frame(frame, into, wanted, tracks, saved)
    return saved


class _Tracks:
    """How many crops of each track there are, and when the last was taken."""

    def __init__(self, wanted: WantedCrops) -> None:
        self._wanted = wanted
        self._known: dict[tuple[str, str, int], tuple[int, float]] = {}

    def take(self, result: Result, track: int) -> int | None:
        """The number of the crop to be taken; None: there are enough, or one was taken just before."""
        key, now = (result.stream, result.run, track), result.frame.media_time_s
        if key not in self._known and len(self._known) >= MOST_TRACKS:
            return None
        count, last = self._known.get(key, (0, -self._wanted.apart_s))
        if count >= self._wanted.per_track or now - last < self._wanted.apart_s:
            return None
        self._known[key] = count + 1, now
        return count


def _save_frame(frame: RecordedFrame, into: Path, wanted: WantedCrops, tracks: _Tracks, saved: SavedCrops) -> None:
    result = frame.result
    if result is None or frame.fault:
        saved.unreadable += 1
        return
    tracked = [each for each in result.objects if each.track_id is not None and each.parent_id is None]
    if not tracked:
        return
    try:
        image = decode_frame(header_of(result, result.frame.captured_at), frame.jpeg).image
    except FrameError:
        saved.unreadable += 1
        return
    for each in tracked:
        crop = cut(image, each.box, wanted.margin).pixels
        if (
            min(crop.shape[:2]) >= LEAST_SIDE
            and each.track_id is not None
            and (number := tracks.take(result, each.track_id)) is not None
        ):
            folder = _folder(each, wanted.attribute)
            run = re.sub(r"[^A-Za-z0-9]", "", result.run)[:8]
            name = f"{_plain(result.stream)}_{run}-{each.track_id}_{number:03d}.jpg"
            _write(into / folder / name, crop)
            saved.by_folder[folder] += 1


def _begin(into: Path) -> None:
    try:
        if into.exists() and any(into.iterdir()):
            raise BadInput(f"--into {into}: other things lie there; choose another folder")
    except OSError as error:
        raise BadInput(f"--into {into}: cannot be read ({error.strerror})") from None


def _check(recording: Path, attribute: str) -> None:
    """Raise BadInput where nobody has given this answer: all crops would be unknown."""
    given: set[str] = set()
    for result in (each.result for episode in episodes(recording) for each in frames(recording, episode)):
        given |= {answer.name for found in (result.objects if result else ()) for answer in found.attributes}
        if attribute in given:
            return
    raise BadInput(f"--attribute {attribute}: is no answer in {recording}{choices(attribute, sorted(given))}")


def _folder(each: Object, attribute: str | None) -> str:
    """A label may be anything that a message can hold: of it stays what can be a folder's name."""
    said = next((answer.label for answer in each.attributes if answer.name == attribute), UNKNOWN)
    label = re.sub(r"[^\w -]", "-", each.label if attribute is None else said).strip(" -")[:LONGEST]
    return label or UNKNOWN


def _plain(stream: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", stream)[:LONGEST]


def _write(path: Path, crop: Image) -> None:
    encoded, data = cv2.imencode(".jpg", crop, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert encoded
    files.write(path, bytes(data))
