"""Where a file of ours says that a secret is, in place of the secret; reads it and hides it from logs first of all."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from pipelines.settings import first_line, variable
from serving.common.redaction import hide
from serving.common.strict import Strict
from serving.errors import BadInput

MOST_CHARS = 4096


class SecretPlace(Strict):
    """Where a secret is: a secret itself does not belong in the file."""

    env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
    """The name of an environment variable."""
    file: Path | None = None
    """A file whose first line it is; relative paths begin at the file that names it."""

    @model_validator(mode="after")
    def _one(self) -> SecretPlace:
        if (self.env is None) == (self.file is None):
            raise ValueError("give either env or file")
        return self


def read_secret(place: SecretPlace, folder: Path, key: str) -> str:
    """The secret at its place; raises BadInput where there is none. ``key``: names it, as ``sinks[0].password``."""
    if place.env is not None:
        found = _variable(place.env, key)
    else:
        file = folder / (place.file or "")
        found = first_line(file, f"{key}: {file}", MOST_CHARS + 2)
    if not 0 < len(found) <= MOST_CHARS or not found.isprintable():
        raise BadInput(f"{key}: a secret has 1 to {MOST_CHARS} printable characters")
    hide(found)
    return found


def _variable(name: str, key: str) -> str:
    found = variable(name)
    if found is None:
        raise BadInput(f"{key}: the environment variable {name} is not set")
    return found
