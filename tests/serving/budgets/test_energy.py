"""Energy as the kernel tells it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from serving.budgets import energy as gpu
from serving.budgets.energy import gpu_power, processor_energy


def counter(powercap: Path, zone: str, name: str, microjoules: int) -> Path:
    folder = powercap / zone
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text("1000000000\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    return folder / "energy_uj"


def stat(path: Path, busy: int) -> Path:
    path.write_text(f"cpu  {busy} 0 0 900000 77 0 0 0 0 0\ncpu0 1 2 3\n")
    return path


def test_joules_are_those_of_all_packages_over_the_busy_seconds(tmp_path: Path) -> None:
    first = counter(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = counter(tmp_path, "intel-rapl:1", "package-1", 999_000_000)
    counter(tmp_path, "intel-rapl:0:0", "core", 7)
    counter(tmp_path, "intel-rapl:2", "psys", 7)
    meter = processor_energy(tmp_path, stat(tmp_path / "stat", 1000))
    assert meter is not None
    assert meter() is None
    first.write_text("25000000")
    second.write_text("9000000")  # it has run over
    stat(tmp_path / "stat", 1200)
    assert meter() == pytest.approx((20 + 10) / 2)
    stat(tmp_path / "stat", 1210)
    assert meter() == pytest.approx(15.0), "a tenth of a second tells nothing"


@pytest.mark.parametrize("content", [None, "", "never"])
def test_a_machine_that_tells_nothing_has_no_meter(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        counter(tmp_path, "intel-rapl:0", "package-0", 0).write_text(content)
    assert processor_energy(tmp_path, stat(tmp_path / "stat", 1)) is None
    assert processor_energy(tmp_path / "nothing", tmp_path / "nothing") is None


class NVMLError(Exception):
    """The library's."""


def library(milliwatts: int | None, known: str = "GPU-1") -> SimpleNamespace:
    """Stands for ``pynvml``."""

    def handle(uuid: str) -> str:
        if uuid != known:
            raise NVMLError("not found")
        return uuid

    def power(_: str) -> int:
        if milliwatts is None:
            raise NVMLError("not supported")
        return milliwatts

    return SimpleNamespace(
        NVMLError=NVMLError, nvmlInit=lambda: None, nvmlDeviceGetHandleByUUID=handle, nvmlDeviceGetPowerUsage=power
    )


def test_a_second_of_a_gpu_is_what_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_uuid", lambda: "GPU-1")
    monkeypatch.setitem(sys.modules, "pynvml", library(77_437))
    meter = gpu_power()
    assert meter is not None
    assert meter() == 77.437


@pytest.mark.parametrize("found", [None, library(None), library(5, known="GPU-2")], ids=["absent", "silent", "other"])
def test_a_gpu_that_tells_nothing_has_no_meter(found: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_uuid", lambda: "GPU-1")
    monkeypatch.setitem(sys.modules, "pynvml", found)  # None: it is not installed
    assert gpu_power() is None
    monkeypatch.setattr(gpu, "gpu_uuid", lambda: None)
    assert gpu_power() is None
