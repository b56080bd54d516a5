"""The kinds of machines that can be had, with their prices, as people write them; the file is read elsewhere.

machines:
  cpu: {price_per_hour: 0.384, resources: {cores: 8, memory_gib: 32}, at_most: 8}
  gpu: {price_per_hour: 3.06, resources: {cores: 8, memory_gib: 61, gpu_memory_gib: 16}}
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from serving.autoscale.state import MachineKind
from serving.common.explain import Problem, validate
from serving.common.strict import Strict

MOST_KINDS, MOST_RESOURCES = 32, 16
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Amount = Annotated[float, Field(gt=0, le=1e9)]


class MachineLine(Strict):
    """One kind."""

    price_per_hour: float = Field(ge=0, le=1e6)
    """In any one currency."""
    resources: dict[Name, Amount] = Field(min_length=1, max_length=MOST_RESOURCES)
    at_most: int = Field(default=16, ge=0, le=10_000)


class MachineFile(Strict):
    """The file."""

    machines: dict[Name, MachineLine] = Field(min_length=1, max_length=MOST_KINDS)


def machine_kinds(data: object) -> tuple[tuple[MachineKind, ...], list[Problem]]:
    """The kinds in a file's content, or none and a problem for each thing that is wrong with it."""
    found, problems = validate(MachineFile, data)
    if found is None:
        return (), problems
    kinds = found.machines.items()
    return tuple(
        MachineKind(name, each.price_per_hour / 3600, each.resources, each.at_most) for name, each in kinds
    ), []
