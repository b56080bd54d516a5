"""A recording in chunks, and where workers find it. Pure, but for the links of paths."""

from __future__ import annotations

from pathlib import Path

from operators.wire.jobs import MOST_CHUNKS
from serving.errors import BadInput, SourceError

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
