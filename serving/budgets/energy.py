"""The energy of this machine: Intel's and AMD's RAPL counters under ``/sys/class/powercap``, and a GPU's power by NVML.

A machine's energy is shared among all that computes on it by processor time: joules of the packages over the busy
seconds of all processors in the same time. So idle power is paid by those who compute. Where a GPU runs networks, they
cost seconds of the GPU, and its power counts in place of the processors'.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from serving.engines.execution_device import gpu_uuid

POWERCAP = Path("/sys/class/powercap")
STAT = Path("/proc/stat")
HERTZ = 100.0
"""Units of ``/proc/stat``: USER_HZ, which is 100 on every architecture that Python runs on."""
LEAST_BUSY_S = 0.5
"""Joules per second are known anew after so many busy seconds."""
_IDLE = (3, 4)
"""Columns of ``/proc/stat``: idle, and waiting for disks."""


class Package:
    """The counter of one processor package, which runs over."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError or ValueError where it cannot be read."""
        self._energy = folder / "energy_uj"
        self._range = int((folder / "max_energy_range_uj").read_text())
        self._last = int(self._energy.read_text())

    def joules(self) -> float:
        """Joules since the last time."""
        now = int(self._energy.read_text())
        used, self._last = now - self._last, now
        return (used if used >= 0 else used + self._range) / 1e6


EnergyMeter = Callable[[], float | None]
"""Tells joules for a busy second of what runs networks, of late; None as long as they are not known."""


class ProcessorEnergy:
    """Joules for a busy processor second."""

    def __init__(self, packages: list[Package], busy_s: Callable[[], float]) -> None:
        """``busy_s``: seconds for which this machine's processors have been busy."""
        self._packages, self._busy_s = packages, busy_s
        self._before_s = busy_s()
        self._joules_per_s: float | None = None

    def joules_per_s(self) -> float | None:
        """None as long as too little was computed."""
        busy_s = self._busy_s() - self._before_s
        if busy_s >= LEAST_BUSY_S:
            self._joules_per_s = sum(each.joules() for each in self._packages) / busy_s
            self._before_s += busy_s
        return self._joules_per_s


def processor_energy(powercap: Path = POWERCAP, stat: Path = STAT) -> EnergyMeter | None:
    """This machine's processors'; None where it tells nothing, as in most containers."""
    try:
        packages = [Package(folder) for folder in sorted(powercap.glob("intel-rapl:[0-9]*")) if _is_package(folder)]
        return ProcessorEnergy(packages, lambda: busy_s(stat.read_text())).joules_per_s if packages else None
    except (OSError, ValueError):
        return None


def _is_package(folder: Path) -> bool:
    """Zones within a package, as of its cores, are part of it."""
    return folder.name.count(":") == 1 and (folder / "name").read_text().startswith("package")


def busy_s(stat: str) -> float:
    """Busy seconds of all processors by the text of ``/proc/stat``.

    >>> busy_s("cpu  100 0 50 900 25 0 0 0 0 0\\ncpu0 …")
    1.5
    """
    first = stat.partition("\n")[0].split()[1:9]
    return sum(int(each) for place, each in enumerate(first) if place not in _IDLE) / HERTZ


def gpu_power() -> EnergyMeter | None:
    """The meter of the GPU that runs networks: what it draws; None where none does or it does not tell."""
    if (uuid := gpu_uuid()) is None:
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError:
        return None

    def joules_per_s() -> float | None:
        try:
            return float(pynvml.nvmlDeviceGetPowerUsage(gpu)) / 1e3
        except pynvml.NVMLError:
            return None

    return None if joules_per_s() is None else joules_per_s
