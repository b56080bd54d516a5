"""Fetches a zip archive and unpacks the wanted files, within bounds and never outside the folder."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

CHUNK_BYTES = 1 << 18
TIMEOUT_S = 60.0


class DataError(Exception):
    """A data set is unavailable, damaged or not the expected one; the message says where and what to do."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of an archive; a larger one is refused, whatever its headers claim."""

    archive_bytes: int
    file_bytes: int
    unpacked_bytes: int


@contextmanager
def fetched(url: str, limit_bytes: int) -> Iterator[IO[bytes]]:
    """Download an http(s) URL to an open temporary file; ``DataError`` if it cannot be had or is too large."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{url}: must begin with http:// or https://")
    with tempfile.TemporaryFile() as file:
        try:
            request = Request(url, headers={"User-Agent": "sluice-video"})  # noqa: S310
            with urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
                copy(response, file, limit_bytes, url)
        except (OSError, HTTPException) as error:  # URLError, time-outs and broken connections are OSErrors
            raise DataError(f"{url}: cannot be fetched: {getattr(error, 'reason', error) or error!r}") from error
        file.seek(0)
        yield file


def copy(source: IO[bytes], target: IO[bytes], limit_bytes: int, what: str) -> None:
    """Copy a stream to its end; ``DataError`` as soon as it is longer than the limit."""
    copied = 0
    while chunk := source.read(CHUNK_BYTES):
        copied += len(chunk)
        if copied > limit_bytes:
            raise DataError(f"{what}: larger than {limit_bytes} bytes: refused")
        target.write(chunk)


def unpack(archive: IO[bytes], folder: Path, place: Callable[[str], str | None], bounds: Bounds) -> None:
    """Write the members for which ``place`` names a place in the folder; a zip inside the zip is looked into as well.

    Files get the name that ``place`` returns, never the member's own, so no member can leave the folder. ``DataError``
    for what is no zip, is damaged, or exceeds the bounds.
    """
    left_bytes = bounds.unpacked_bytes
    try:
        for name, member in members(archive, bounds.archive_bytes):
            relative = place(name)
            if relative is None:
                continue
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                copy(member, file, min(bounds.file_bytes, left_bytes), name)
            left_bytes -= target.stat().st_size
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise DataError(f"not a readable zip archive: {error}") from error
    except FileExistsError as error:
        raise DataError(f"the archive holds two files for {error.filename}") from error


def members(archive: IO[bytes], nested_bytes: int, nested: bool = True) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a zip, and those of zips directly inside it, each open for reading."""
    with zipfile.ZipFile(archive) as pack:
        for info in pack.infolist():
            with pack.open(info) as member:
                if not (nested and info.filename.lower().endswith(".zip")):
                    yield info.filename, member
                    continue
                with tempfile.TemporaryFile() as inner:
                    copy(member, inner, nested_bytes, info.filename)
                    inner.seek(0)
                    yield from members(inner, nested_bytes, nested=False)
