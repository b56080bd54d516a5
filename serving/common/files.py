"""Writes files that are whole or not there: a reader never sees half a file, even if the writer was killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from serving.errors import BadInput


def write(path: Path, content: bytes) -> None:
    """Write a file in one step, with its folders; raises BadInput where the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(fresh, path)
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error
