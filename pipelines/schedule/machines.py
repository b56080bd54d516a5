"""The kinds of machines that can be had, with their prices, as people write them.

machines:
  cpu: {price_per_hour: 0.384, resources: {cores: 8, memory_gib: 32}, at_most: 8}
  gpu: {price_per_hour: 3.06, resources: {cores: 8, memory_gib: 61, gpu_memory_gib: 16}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field

from pipelines.query.yaml_file import read_yaml
from pipelines.schedule.epochs import UNBOUNDED_BYTES
from serving.common.explain import Problem, Strict, validate
from serving.errors import BadInput
from serving.placement.demands import DeviceKind

GIB = 1 << 30
MEMORY = ("gpu_memory_gib", "memory_gib")
"""Where networks lie: in the memory of a GPU, if there is one."""
LEAST_PRICE = 1e-9
MOST_KINDS, MOST_RESOURCES = 32, 16
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Amount = Annotated[float, Field(ge=1e-6, le=1e9)]
File = TypeVar("File", bound=Strict)


class MachineLine(Strict):
    """One kind."""

    price_per_hour: float = Field(ge=0, le=1e6)
    """In any one currency."""
    resources: dict[Name, Amount] = Field(min_length=1, max_length=MOST_RESOURCES)
    at_most: int = Field(default=16, ge=0, le=10_000)

    @property
    def memory_bytes(self) -> int:
        amounts = [self.resources[each] for each in MEMORY if each in self.resources]
        return round(amounts[0] * GIB) if amounts else UNBOUNDED_BYTES


Machines = Annotated[dict[Name, MachineLine], Field(min_length=1, max_length=MOST_KINDS)]


class MachineFile(Strict):
    """The file."""

    machines: Machines


def read_machines(path: Path) -> list[DeviceKind]:
    """The kinds of a file; raises BadInput with a line for each thing that is wrong."""
    return device_kinds(read_strictly(path, MachineFile).machines)


def device_kinds(machines: Mapping[str, MachineLine]) -> list[DeviceKind]:
    return [
        DeviceKind(name, each.memory_bytes, max(each.price_per_hour / 3600, LEAST_PRICE), each.at_most)
        for name, each in machines.items()
    ]


def read_strictly(path: Path, model: type[File], wrong: Callable[[File], list[Problem]] = lambda _: []) -> File:
    """A file by its model; raises BadInput with a line for each thing that is wrong, to it or else to ``wrong``."""
    document = read_yaml(path)
    found, problems = validate(model, document.data) if not document.problems else (None, document.problems)
    if found is None or (problems := wrong(found)):
        raise BadInput(document.explain(problems))
    return found
