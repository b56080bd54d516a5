"""The recordings of an archive: what patterns name, in order."""

from __future__ import annotations

import glob
from collections.abc import Sequence
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
        if len(found) > MOST_RECORDINGS:
            raise BadInput(f"--source {pattern}: more than {MOST_RECORDINGS} recordings: make several jobs of them")
    return list(found)


def _named(pattern: str) -> list[str]:
    uri = SourceUri(pattern)
    if uri.live:
        raise BadInput(f"--source {uri}: a camera has no end: jobs are for recordings, `sluice run` is for cameras")
    if uri.kind != "path" or uri.path.exists() or not glob.has_magic(pattern):
        return [pattern]
    files = sorted(map(Path, glob.iglob(pattern, recursive=True)), key=lambda file: (file.parent, natural_order(file)))
    if not files:
        raise BadInput(f"--source {pattern}: no file is called so")
    return [str(each) for each in files if each.is_file()]
