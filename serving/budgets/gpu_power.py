"""The power of the GPU that runs networks, as NVIDIA's management library (NVML) tells it; needs the extra ``gpu``."""

from __future__ import annotations

from typing import Any

from serving.engines.execution_device import gpu_uuid


class GpuPower:
    """Joules for a second of a GPU: what it draws at the time."""

    def __init__(self, library: Any, gpu: Any) -> None:
        """``library``: ``pynvml``, initialised; ``gpu``: its handle."""
        self._library, self._gpu = library, gpu

    def joules_per_s(self) -> float | None:
        """Watts of late; None where the GPU does not tell."""
        try:
            return float(self._library.nvmlDeviceGetPowerUsage(self._gpu)) / 1e3
        except self._library.NVMLError:
            return None


def gpu_power() -> GpuPower | None:
    """The meter of the GPU that runs networks; None where none does or it does not tell."""
    if (uuid := gpu_uuid()) is None:
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        meter = GpuPower(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid))
    except pynvml.NVMLError:
        return None
    return None if meter.joules_per_s() is None else meter
