"""Where a file of ours says that a secret is, in place of the secret; reads it and hides it from logs first of all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from pipelines.settings import first_line, variable
from serving.common.explain import Strict
from serving.common.redaction import hide
from serving.errors import BadInput

MOST_CHARS = 4096
_PLACEHOLDER = re.compile(r"\$\{(?:file:(?P<file>[^}]+)|(?P<env>[A-Za-z_][A-Za-z0-9_]{0,99}))\}")


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


def _named(value: Any, info: ValidationInfo) -> Any:
    """The place that a placeholder names; a file's is relative to the query."""
    if not isinstance(value, str):
        return value
    found = _PLACEHOLDER.fullmatch(value)
    if found is None:
        raise ValueError("does not belong in the file: give ${NAME} of an environment variable, or ${file:PATH}")
    if found["env"]:
        return SecretPlace(env=found["env"])
    return SecretPlace(file=Path((info.context or {}).get("base", "")) / found["file"])


Placeholder = Annotated[SecretPlace, BeforeValidator(_named, json_schema_input_type=str)]
"""``${NAME}`` of the environment, or ``${file:PATH}``."""


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
