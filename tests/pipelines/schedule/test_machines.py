"""The file of machine kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.schedule.machines import read_machines
from serving.errors import BadInput
from serving.placement.demands import DeviceKind


def written(folder: Path, content: object) -> Path:
    path = folder / "machines.yaml"
    path.write_text(json.dumps(content))
    return path


def test_the_file_of_machine_kinds(tmp_path: Path) -> None:
    both = {
        "cpu": {"price_per_hour": 3.6, "resources": {"cores": 8, "memory_gib": 32}},
        "gpu": {"price_per_hour": 0, "resources": {"memory_gib": 61, "gpu_memory_gib": 16}, "at_most": 8},
    }
    assert read_machines(written(tmp_path, {"machines": both})) == [
        DeviceKind("cpu", 32 << 30, pytest.approx(0.001), 16),
        DeviceKind("gpu", 16 << 30, 1e-9, 8),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": -1, "resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": float("nan"), "resources": {"cores": 8}}, "machines.cpu.price_per_hour"),
        ({"price_per_hour": 1, "resources": {"cores": 0}}, "machines.cpu.resources.cores"),
        ({"price_per_hour": 1, "resources": {"memory_gib": 1e-10}}, "machines.cpu.resources.memory_gib"),
        ({"price_per_hour": 1, "resources": {}}, "machines.cpu.resources"),
        ({"price_per_hour": 1, "resources": {"cores": 8}, "at_most": 1e9}, "machines.cpu.at_most"),
        ({"price_per_hour": 1, "resources": {"cores": 8}, "colour": "red"}, "machines.cpu.colour"),
    ],
)
def test_a_file_with_a_fault_is_explained(tmp_path: Path, line: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_machines(written(tmp_path, {"machines": {"cpu": line}}))


def test_what_is_no_file_of_machines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        read_machines(written(tmp_path, ["no", "file"]))
