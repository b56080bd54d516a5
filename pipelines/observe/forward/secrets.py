"""Reads the secrets of sinks, and hides them from logs before anything else is done with them."""

from __future__ import annotations

from pathlib import Path

from pipelines.observe.forward.sinks_file import SecretPlace
from pipelines.settings import variable
from serving.common.redaction import hide
from serving.errors import BadInput

MOST_CHARS = 4096


def read_secret(place: SecretPlace, folder: Path, key: str) -> str:
    """The secret at its place; raises BadInput where there is none. ``key``: names it, as ``sinks[0].password``."""
    found = _variable(place.env, key) if place.env is not None else _line(folder / (place.file or ""), key)
    if not 0 < len(found) <= MOST_CHARS or not found.isprintable():
        raise BadInput(f"{key}: a secret has 1 to {MOST_CHARS} printable characters")
    hide(found)
    return found


def _variable(name: str, key: str) -> str:
    found = variable(name)
    if found is None:
        raise BadInput(f"{key}: the environment variable {name} is not set")
    return found


def _line(file: Path, key: str) -> str:
    try:
        with file.open(encoding="utf-8") as lines:
            return lines.readline(MOST_CHARS + 2).rstrip("\r\n")
    except OSError as error:
        raise BadInput(f"{key}: {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{key}: {file}: it is no text in UTF-8") from None
