"""The base of what people write in files: query, topics, model cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo


class Strict(BaseModel):
    """Immutable, and refuses keys it does not know. Its validator is built when the first file is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def listed(value: Any) -> Any:
    """A single word as a list of one."""
    return [value] if isinstance(value, str) else value


def beside_the_file(path: Path, info: ValidationInfo) -> Path:
    """A relative path is relative to the file that names it, so that a query and its pictures move together."""
    return Path((info.context or {}).get("base", "")) / path
