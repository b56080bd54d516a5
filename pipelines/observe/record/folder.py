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
from pipelines.observe.record.reading import episodes, read_manifest
from serving.errors import BadInput

BLOCK = 4096
"""A file takes whole blocks of the disk."""


@dataclass(slots=True)
class _Episode:
    bytes: int = 0
    frames: int = 0
    causes: int = 0
    pictures: int = 0
    """Those of disagreements."""


class Folder:
    """For one thread. Whatever it makes can be read by this user alone."""

    def __init__(self, recording: Recording) -> None:
        """Begin a recording, or go on with one of the same query; raises BadInput where that cannot be."""
        self._directory, self._most_bytes = recording.directory, recording.most_bytes
        self._episodes: OrderedDict[int, _Episode] = OrderedDict()
        self.bytes = 0
        """The size of all episodes."""
        try:
            self._begin(recording.manifest)
            self._evict()
        except OSError as error:
            raise BadInput(f"cannot record into {self._directory}: {error.strerror}; choose another folder") from None
        self.next = max(self._episodes, default=0) + 1
        """The number of the next episode."""

    @property
    def episodes(self) -> int:
        return len(self._episodes)

    def add(self, episode: int, jpeg: bytes, result: bytes) -> None:
        """Keep a frame and its result, as JSON; raises OSError. The picture comes first: no result is without one."""
        of = self._open(episode)
        self._write(episode, picture_name(of.frames), jpeg)
        self._write(episode, RESULTS, result + b"\n")
        of.frames += 1
        self._evict()

    def because(self, episode: int, cause: bytes, jpeg: bytes | None) -> None:
        """Say for what an episode is kept, as JSON, with the picture of a disagreement; raises OSError."""
        of = self._open(episode)
        if of.causes >= MOST_CAUSES:
            return
        if jpeg is not None:
            self._write(episode, disagreement_name(of.pictures), jpeg)
            of.pictures += 1
        self._write(episode, CAUSES, cause + b"\n")
        of.causes += 1
        self._evict()

    def _begin(self, manifest: Manifest) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self._directory / MANIFEST).exists():
            known = read_manifest(self._directory)
            if known.query_sha256 != manifest.query_sha256:
                raise BadInput(
                    f"cannot record into {self._directory}: it has frames of query {known.query} as it was then; "
                    "choose another folder, or remove this one"
                )
            for number in episodes(self._directory):
                files = (self._directory / episode_name(number)).iterdir()
                self._episodes[number] = _Episode(sum(_blocks(file.lstat().st_size) for file in files))
            self.bytes = sum(each.bytes for each in self._episodes.values())
        elif any(self._directory.iterdir()):
            raise BadInput(f"cannot record into {self._directory}: other things lie there; choose another folder")
        else:
            _append(self._directory / MANIFEST, to_json(manifest) + b"\n")

    def _open(self, number: int) -> _Episode:
        """The episode, begun anew where somebody has removed it."""
        folder = self._directory / episode_name(number)
        if number not in self._episodes or not folder.is_dir():
            folder.mkdir(mode=0o700)
            self.bytes -= self._episodes.pop(number, _Episode()).bytes
            self._episodes[number] = _Episode()
        return self._episodes[number]

    def _write(self, number: int, name: str, data: bytes) -> None:
        path, of = self._directory / episode_name(number) / name, self._episodes[number]
        before = _blocks(path.stat().st_size) if path.exists() else 0
        _append(path, data)
        grown = _blocks(path.stat().st_size) - before
        of.bytes += grown
        self.bytes += grown

    def _evict(self) -> None:
        while self._episodes and (self.bytes > self._most_bytes or len(self._episodes) > MOST_EPISODES):
            number, gone = self._episodes.popitem(last=False)
            with suppress(FileNotFoundError):
                shutil.rmtree(self._directory / episode_name(number))
            self.bytes -= gone.bytes


def _append(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
        file.write(data)


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
