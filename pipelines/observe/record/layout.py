"""Where a recording goes, how it lies on disk, and its bounds.

``manifest.json``, and for each episode a folder with a number for a name: ``results.jsonl``, whose n-th line is the
result of the frame in the n-th picture, ``00000.jpg`` being the first; ``causes.jsonl``, the events and disagreements
for which they are kept; and ``disagreement-000.jpg`` and so on, what disagreements are about. No name in a file leads
to another file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Id, Label, Moment
from serving.common.libraries import versions_of
from serving.errors import BadInput

RECORDING_SCHEMA: Final = "sluice.recording/1"
MANIFEST: Final = "manifest.json"
RESULTS: Final = "results.jsonl"
CAUSES: Final = "causes.jsonl"

MOST_FRAMES = 256
"""Frames of an episode; what goes on for longer goes on in another one."""
MOST_HELD = 128
"""Frames of a stream that may come to be kept, beside those of an episode."""
MOST_CAUSES = 1000
"""Causes of an episode that are written down."""
MOST_EPISODES = 100_000
LARGEST_PICTURE = 32 << 20
"""Bytes of a JPEG that is read."""
LARGEST_RESULTS = 256 << 20
"""Bytes of the results of an episode that are read."""
PACKAGES = ("sluice-video", "onnxruntime", "openvino", "numpy", "opencv-python-headless")
"""Libraries that decide what is found."""


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """The query and the versions that were recorded."""

    schema: Literal["sluice.recording/1"] = RECORDING_SCHEMA
    query: Id
    """The name of the query."""
    query_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}(?![\\s\\S])")]
    """The hash of the query's file."""
    begun_at: Moment
    versions: Annotated[dict[Label, Label], Meta(max_length=bounds.MOST_LISTED)] = {}
    """Versions of Sluice, of the libraries that decide what is found, and of the query's models."""

    def __post_init__(self) -> None:
        bounds.check(self.begun_at)


def episode_name(number: int) -> str:
    """The name of an episode's folder.

    >>> episode_name(7)
    '000007'
    """
    return f"{number:06d}"


def episode_number(name: str) -> int | None:
    """The number of the episode whose folder is called so; None: it is none.

    >>> [episode_number(name) for name in ("000007", "7", "1234567", "x", "١٢٣٤٥٦")]
    [7, None, 1234567, None, None]
    """
    if not re.fullmatch(r"[0-9]{6,12}", name):
        return None
    number = int(name)
    return number if episode_name(number) == name else None


def picture_name(place: int) -> str:
    """The picture of the result in this line, counted from 0.

    >>> picture_name(3)
    '00003.jpg'
    """
    return f"{place:05d}.jpg"


def disagreement_name(place: int) -> str:
    """The picture of an episode's disagreement, counted from 0."""
    return f"disagreement-{place:03d}.jpg"


@dataclass(frozen=True)
class Recording:
    directory: Path
    manifest: Manifest | None
    """None: recordings of several queries lie there, each in a folder of its own."""
    most_bytes: int
    """The largest size of the folder."""

    def of(self, manifest: Manifest) -> Recording:
        """That of one query, which is another one once its file has changed."""
        name = f"{manifest.query}-{manifest.query_sha256[:8]}"
        return self if self.manifest else replace(self, directory=self.directory / name, manifest=manifest)


def manifest_of(name: str, file: Path, models: Mapping[str, str], now: datetime) -> Manifest:
    """Describe a query; ``file``: where it stands; ``models``: their versions by name. Raises BadInput."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None
    versions = {**versions_of(PACKAGES), **{f"model {model}": version for model, version in models.items()}}
    return Manifest(query=name, query_sha256=digest, begun_at=now, versions=versions)
