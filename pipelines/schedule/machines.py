"""The file of machine kinds, with their prices, as a scheduler and a fleet on paper use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.query.yaml_file import read_yaml
from pipelines.schedule.epochs import UNBOUNDED_BYTES
from serving.autoscale.machine_file import machine_kinds
from serving.autoscale.state import MachineKind
from serving.errors import BadInput
from serving.placement.demands import DeviceKind

GIB = 1 << 30
MEMORY = ("gpu_memory_gib", "memory_gib")
"""Where networks lie: in the memory of a GPU, if there is one."""
LEAST_PRICE = 1e-9


def read_machines(path: Path) -> list[DeviceKind]:
    """The kinds of a file; raises BadInput with a line for each thing that is wrong."""
    document = read_yaml(path)
    found, problems = machine_kinds(document.data) if not document.problems else ((), [])
    if document.problems or problems:
        raise BadInput(document.explain([*document.problems, *problems]))
    return device_kinds(found)


def device_kinds(kinds: Sequence[MachineKind]) -> list[DeviceKind]:
    return [DeviceKind(each.name, _memory(each), max(each.price_per_s, LEAST_PRICE), each.at_most) for each in kinds]


def _memory(kind: MachineKind) -> int:
    amounts = [kind.resources[each] for each in MEMORY if each in kind.resources]
    return round(amounts[0] * GIB) if amounts else UNBOUNDED_BYTES
