"""A node's needs, where it names no model: the model-less query of INFaaS (Romero et al., 2021, §3.1).

``model: auto`` and ``model: {task: vehicle-type, accuracy: 0.95, latency_ms: 20}`` become names when the file is read,
so that they are passed on like other names, and lists of models before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from serving.common.explain import Strict, validate
from serving.variants.variant import ON

AUTO = "auto"


class Needs(Strict):
    """A node's needs of a model."""

    task: str | None = Field(default=None, pattern=r"^[^\s@]{1,100}$")
    """The model whose answers are wanted; it is the oracle. Default: the only reference model of the catalogue."""
    accuracy: float | None = Field(default=None, ge=0, le=1)
    """How often other models must have said the same where they were profiled. Default: the query's ``accuracy``."""
    latency_ms: float | None = Field(default=None, gt=0, le=3_600_000)
    """The most that one object may take, as it was measured here. Default: what the deadline leaves."""
    cost_ms: float | None = Field(default=None, gt=0, le=3_600_000)
    """The most time of the device for one object, in the best batch. Default: not bounded."""
    backend: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9-]{0,49}$")
    """The backend on which its models run. Default: in this process."""


def named(value: Any) -> Any:
    """A query's ``model``, with needs as a name; ValueError for needs that make no sense."""
    if not isinstance(value, dict):
        return value
    needs, problems = validate(Needs, value)
    if needs is None:
        raise ValueError(f"{problems[0]}; a model is needed as {{task: NAME, accuracy: 0.95}}")
    said = [needs.accuracy, needs.latency_ms, needs.cost_ms]
    numbers = ("-" if each is None else repr(each) for each in said)
    return " ".join([AUTO, needs.task or "-", *numbers, needs.backend or "-"])


def needs_of(models: Sequence[str]) -> Needs | None:
    """A node's needs, None where it names models."""
    if len(models) != 1 or models[0].split(" ")[0] != AUTO or ON in models[0]:
        return None
    words = [None if each == "-" else each for each in [*models[0].split(" "), *"-----"][1:6]]
    accuracy, latency_ms, cost_ms = (None if each is None else float(each) for each in words[1:4])
    return Needs(task=words[0], accuracy=accuracy, latency_ms=latency_ms, cost_ms=cost_ms, backend=words[4])
