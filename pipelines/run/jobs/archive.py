"""The recordings of an archive: what patterns name, in order."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from operators.capture.sources.images import natural_order
from operators.capture.sources.uri import SourceUri
from serving.errors import BadInput

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
