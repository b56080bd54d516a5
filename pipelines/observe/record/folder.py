"""Writes episodes into a folder that never grows beyond a number of bytes: the oldest evidence goes first."""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from operators.wire.schema import to_json
from pipelines.observe.record.layout import (
    CAUSES,
    MANIFEST,
    MOST_CAUSES,
    MOST_EPISODES,
    RESULTS,
    Manifest,
    Recording,
    disagreement_name,
    episode_name,
    picture_name,
)
from pipelines.observe.record.reading import episodes, read_manifest, recordings
from serving.errors import BadInput

BLOCK = 4096
"""A file takes whole blocks of the disk."""


@dataclass(slots=True)
class _Episode:
    folder: Path
    bytes: int = 0
    frames: int = 0
    causes: int = 0
    pictures: int = 0
    """Those of disagreements."""


class Folder:
    """For one thread. Whatever it makes can be read by this user alone."""

    def __init__(self, recording: Recording) -> None:
        """Begin, or go on with recordings of the same queries; raises BadInput where that cannot be."""
        self._directory, self._most_bytes = recording.directory, recording.most_bytes
        self._episodes: OrderedDict[tuple[int, Path], _Episode] = OrderedDict()
        """By number, of which each is given once, and recording."""
        self.bytes = 0
        """The size of all episodes."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._begin(recording)
            self._evict()
        except OSError as error:
            raise BadInput(f"cannot record into {self._directory}: {error.strerror}; choose another folder") from None
        self.next = max((number for number, _ in self._episodes), default=0) + 1
        """The number of the next episode."""

    @property
    def episodes(self) -> int:
        return len(self._episodes)

    def add(self, recording: Recording, episode: int, jpeg: bytes, result: bytes) -> None:
        """Keep a frame and its result, as JSON; raises OSError. The picture comes first: no result is without one."""
        of = self._open(recording, episode)
        self._write(of, picture_name(of.frames), jpeg)
        self._write(of, RESULTS, result + b"\n")
        of.frames += 1
        self._evict()

    def because(self, recording: Recording, episode: int, cause: bytes, jpeg: bytes | None) -> None:
        """Say for what an episode is kept, as JSON, with the picture of a disagreement; raises OSError."""
        of = self._open(recording, episode)
        if of.causes >= MOST_CAUSES:
            return
        if jpeg is not None:
            self._write(of, disagreement_name(of.pictures), jpeg)
            of.pictures += 1
        self._write(of, CAUSES, cause + b"\n")
        of.causes += 1
        self._evict()

    def _begin(self, recording: Recording) -> None:
        inside, manifest = list(self._directory.iterdir()), recording.manifest
        known = recordings(self._directory) if manifest is None else [self._directory]
        if manifest is not None and (self._directory / MANIFEST).exists():
            was = read_manifest(self._directory)
            if was.query_sha256 != manifest.query_sha256:
                raise BadInput(
                    f"cannot record into {self._directory}: it has frames of query {was.query} as it was then; "
                    "choose another folder, or remove this one"
                )
        elif not all(each in known or _is_begun(each) for each in inside):
            raise BadInput(f"cannot record into {self._directory}: other things lie there; choose another folder")
        elif manifest is not None:
            _describe(self._directory, manifest)
        for number, place in sorted((number, each) for each in known for number in episodes(each)):
            folder = place / episode_name(number)
            sizes = (file.lstat().st_size for file in folder.iterdir())
            self._episodes[number, place] = _Episode(folder, sum(map(_blocks, sizes)))
        self.bytes = sum(each.bytes for each in self._episodes.values())

    def _open(self, recording: Recording, number: int) -> _Episode:
        """The episode, begun anew where somebody has removed it, or the whole recording."""
        place = recording.directory
        folder, key = place / episode_name(number), (number, place)
        if key not in self._episodes or not folder.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
            if recording.manifest is not None and not (place / MANIFEST).exists():
                _describe(place, recording.manifest)
            folder.mkdir(mode=0o700)
            self.bytes -= self._episodes.pop(key, _Episode(folder)).bytes
            self._episodes[key] = _Episode(folder)
        return self._episodes[key]

    def _write(self, of: _Episode, name: str, data: bytes) -> None:
        path = of.folder / name
        before = _blocks(path.stat().st_size) if path.exists() else 0
        _append(path, data)
        grown = _blocks(path.stat().st_size) - before
        of.bytes += grown
        self.bytes += grown

    def _evict(self) -> None:
        while self._episodes and (self.bytes > self._most_bytes or len(self._episodes) > MOST_EPISODES):
            (_, place), gone = self._episodes.popitem(last=False)
            with suppress(FileNotFoundError):
                shutil.rmtree(gone.folder)
            self.bytes -= gone.bytes
            if place != self._directory and not any(of == place for _, of in self._episodes):
                with suppress(OSError):
                    if os.listdir(place) == [MANIFEST]:
                        shutil.rmtree(place)


def _is_begun(place: Path) -> bool:
    """Whether a process may have ended there that had just begun a recording."""
    return place.is_dir() and all(each.name.startswith(f".{MANIFEST}") for each in place.iterdir())


def _describe(place: Path, manifest: Manifest) -> None:
    fresh = place / f".{MANIFEST}"
    fresh.unlink(missing_ok=True)
    _append(fresh, to_json(manifest) + b"\n")
    os.replace(fresh, place / MANIFEST)


def _append(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
        file.write(data)


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
