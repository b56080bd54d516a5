"""The recordings of an archive, cut into chunks, and where workers find them. Pure, but for the links of paths."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from operators.capture.sources.images import natural_order
from operators.capture.sources.uri import SourceUri
from operators.wire.jobs import MOST_CHUNKS
from serving.errors import BadInput, SourceError

MOST_RECORDINGS = 100_000
AT_ONCE = 4
"""Recordings that are analysed at the same time, whose requests share batches."""


def recordings(patterns: Sequence[str]) -> list[str]:
    """The sources that patterns name, each once; ``**`` stands for folders. Raises BadInput for what names nothing."""
    found: dict[str, None] = {}
    for pattern in patterns:
        found |= dict.fromkeys(_named(pattern))
        _check(len(found), pattern)
    return list(found)


def _named(pattern: str) -> list[str]:
    uri = SourceUri(pattern)
    if uri.live:
        raise BadInput(f"--source {uri}: a camera has no end: jobs are for recordings, `sluice run` is for cameras")
    if uri.kind != "path" or uri.path.exists() or not glob.has_magic(pattern):
        return [pattern]
    files = list(map(Path, islice(glob.iglob(pattern, recursive=True), MOST_RECORDINGS + 1)))
    _check(len(files), pattern)
    if not files:
        raise BadInput(f"--source {pattern}: no file is called so")
    files.sort(key=lambda file: (file.parent, natural_order(file)))
    once: dict[Path, str] = {}
    for each in filter(Path.is_file, files):
        once.setdefault(each.resolve(), str(each))  # links may lead to one file by several ways, also in a circle
    return list(once.values())


def _check(recordings: int, pattern: str) -> None:
    if recordings > MOST_RECORDINGS:
        raise BadInput(
            f"--source {pattern}: more than {MOST_RECORDINGS} recordings: make several jobs of them, or mend links "
            "that lead round in a circle"
        )


CHUNK_S = 60.0
"""Media time of a chunk: so often a worker's progress is acknowledged."""


def cut(length_s: float | None) -> list[tuple[float, float | None]]:
    """Where chunks begin and end, in seconds; the last one goes on to the end, whatever the length is said to be.

    >>> cut(150.0)
    [(0.0, 60.0), (60.0, 120.0), (120.0, None)]
    >>> cut(60.0), cut(None)
    ([(0.0, None)], [(0.0, None)])
    """
    step_s = max(CHUNK_S, (length_s or 0.0) / (MOST_CHUNKS - 1))
    begins = [0.0]
    while length_s is not None and begins[-1] + step_s < length_s:
        begins.append(begins[-1] + step_s)
    return list(zip(begins, [*begins[1:], None], strict=True))


def inside(folder: Path, source: str) -> Path:
    """The file of a relative path, wherever links lead, inside of the folder; raises SourceError."""
    try:
        found, root = (folder / source).resolve(), folder.resolve()
    except (OSError, ValueError, RuntimeError):
        raise SourceError("the job names no file", "invalid_uri") from None
    if not found.is_relative_to(root) or found == root:
        raise SourceError(f"{source!r} lies outside of the archive", "invalid_uri")
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise SourceError(f"{source!r} is no file", "invalid_uri")  # such as a pipe, which may never end
    return found


def relative(folder: Path, source: str) -> str:
    """The path of a recording for workers; raises BadInput where it does not lie in the archive."""
    try:
        return Path(source).resolve().relative_to(folder.resolve()).as_posix()
    except (OSError, ValueError):
        raise BadInput(f"{source} lies outside of --archive {folder}, which is what workers see") from None
