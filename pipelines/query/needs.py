"""A node's needs, where it names no model: the model-less query of INFaaS (Romero et al., 2021, §3.1).

``model: auto`` and ``model: {task: vehicle-type, accuracy: 0.95}`` become names when the file is read, so that they are
passed on like other names, and lists of models before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError

from serving.common.strict import Strict
from serving.variants.variant import ON

AUTO = "auto"


class Needs(Strict):
    """A node's needs of a model."""

    task: str | None = Field(default=None, pattern=r"^[^\s@]{1,100}$")
    """The model whose answers are wanted; it is the oracle. Default: the only reference model of the catalogue."""
    accuracy: float | None = Field(default=None, ge=0, le=1)
    """How often other models must have said the same where they were profiled. Default: the query's ``accuracy``."""


def named(value: Any) -> Any:
    """A query's ``model``, with needs as a name; ValueError for needs that make no sense."""
    if not isinstance(value, dict):
        return value
    try:
        needs = Needs.model_validate(value)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(map(str, found["loc"]))
        raise ValueError(f"{where}: {found['msg']}; a model is needed as {{task: NAME, accuracy: 0.95}}") from None
    return " ".join([AUTO, needs.task or "-", "-" if needs.accuracy is None else repr(needs.accuracy)])


def needs_of(models: Sequence[str]) -> Needs | None:
    """A node's needs, None where it names models."""
    if len(models) != 1 or models[0].split(" ")[0] != AUTO or ON in models[0]:
        return None
    task, accuracy = [*models[0].split(" "), "-", "-"][1:3]
    return Needs(task=None if task == "-" else task, accuracy=None if accuracy == "-" else float(accuracy))
