"""Where a recording goes and what it is of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipelines.observe.record.layout import Manifest
from serving.common.versions import versions_of
from serving.errors import BadInput

PACKAGES = ("sluice-video", "onnxruntime", "openvino", "numpy", "opencv-python-headless")
"""Libraries that decide what is found."""


@dataclass(frozen=True)
class Recording:
    """A recording that was asked for."""

    directory: Path
    manifest: Manifest
    most_bytes: int
    """The largest size of the folder."""


def manifest_of(name: str, file: Path, models: Mapping[str, str], now: datetime) -> Manifest:
    """Describe a query; ``file``: where it stands; ``models``: their versions by name. Raises BadInput."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None
    versions = {**versions_of(PACKAGES), **{f"model {model}": version for model, version in models.items()}}
    return Manifest(query=name, query_sha256=digest, begun_at=now, versions=versions)
