"""Whether results are of this query and of this recording: both are in the id of the run that results carry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from operators.capture.sources.failures import explained
from operators.capture.sources.images import is_image
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec

DIGITS: Final = 16
BLOCKS: Final = 16
"""Blocks of a file that are looked at, evenly spread, the first and the last among them."""
BLOCK_BYTES: Final = 1 << 16


class Identity(NamedTuple):
    """A query and a recording."""

    query: str
    recording: str

    @property
    def run(self) -> str:
        """The id of the run: the same whenever the same recording is analysed by the same query."""
        return f"{self.query}-{self.recording}"


def identity_of(run: str) -> Identity:
    """The identity in the id of a run; of another run its id, which is equal to nobody's.

    >>> identity_of("ab-cd")
    Identity(query='ab', recording='cd')
    """
    query, _, recording = run.partition("-")
    return Identity(query, recording)


def query_digest(query: Mapping[str, Any], models: Mapping[str, str], spec: CaptureSpec) -> str:
    """Digest what decides results beside the recording.

    ``query``: the parsed file, whose streams do not count; ``models``: versions by name; ``spec``: how it is sampled.
    """
    said = {key: value for key, value in query.items() if key != "streams"}
    sampled = [spec.sampling.mode, spec.sampling.fps, spec.motion_gate, spec.max_width]
    return _digest([json.dumps([said, dict(models), sampled], sort_keys=True, default=str).encode()])


def recording_digest(uri: SourceUri) -> str:
    """Digest a file's size and some blocks, or the names and sizes of a folder's pictures; place and date do not count.
    Raises SourceError where it cannot be read."""
    if uri.kind != "path":
        return _digest([str(uri).encode()])
    with explained(uri):
        return _digest(_folder(uri) if uri.path.is_dir() else _file(uri))


def _folder(uri: SourceUri) -> Iterator[bytes]:
    for each in sorted(filter(is_image, uri.path.iterdir())):
        yield f"{each.name}\0{each.stat().st_size}\0".encode(errors="surrogateescape")


def _file(uri: SourceUri) -> Iterator[bytes]:
    size = uri.path.stat().st_size
    yield str(size).encode()
    with uri.path.open("rb") as file:
        for number in range(BLOCKS):
            file.seek(max(0, size - BLOCK_BYTES) * number // (BLOCKS - 1))
            yield file.read(BLOCK_BYTES)


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:DIGITS]
