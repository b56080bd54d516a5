"""NVIDIA's driver, as far as it is asked here: which GPUs there are, how much of their memory is taken, how to wait.

The driver comes with the machine, not with a package, so it is called as it is (CUDA driver API). Nothing else knows a
GPU's memory as every process that shares it sees it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any
from uuid import UUID

from serving.errors import SluiceError

_SLEEP = 4
"""CU_CTX_SCHED_BLOCKING_SYNC: a thread that waits for the GPU sleeps."""


class GpuDriver:
    """The driver of a machine that has a GPU."""

    def __init__(self, library: Any, count: int) -> None:
        """``library``: libcuda, initialised."""
        self._library, self.count = library, count

    def used_bytes(self, index: int) -> int:
        """Memory that is taken of one GPU, by whichever process; SluiceError where the driver does not say."""
        return self._memory(index)[1] - self._memory(index)[0]

    def free_bytes(self, index: int) -> int:
        """Memory that is free on one GPU; SluiceError where the driver does not say."""
        return self._memory(index)[0]

    def sleep_while_waiting(self, index: int) -> None:
        """Let threads that wait for a GPU sleep; they would keep a processor busy. For what is opened from now on."""
        self._call("cuDevicePrimaryCtxSetFlags_v2", self._device(index), ctypes.c_uint(_SLEEP))

    def name(self, index: int) -> str:
        """Such as ``NVIDIA H200``; SluiceError where the driver does not say."""
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, ctypes.c_int(len(text)), self._device(index))
        return text.value.decode(errors="replace")

    def uuid(self, index: int) -> str:
        """Such as ``GPU-c56a6c3c-a021-…``; SluiceError where the driver does not say."""
        octets = ctypes.create_string_buffer(16)
        self._call("cuDeviceGetUuid_v2", octets, self._device(index))
        return f"GPU-{UUID(bytes=octets.raw)}"

    def _memory(self, index: int) -> tuple[int, int]:
        """Free and whole."""
        device, context = self._device(index), ctypes.c_void_p()
        free, whole = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        try:
            self._call("cuCtxPushCurrent_v2", context)
            try:
                self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(whole))
            finally:
                self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        finally:
            self._call("cuDevicePrimaryCtxRelease_v2", device)
        return free.value, whole.value

    def _device(self, index: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
        return device

    def _call(self, function: str, *arguments: Any) -> None:
        failed = getattr(self._library, function)(*arguments)
        if failed:
            raise SluiceError(f"the NVIDIA driver's {function} failed with error {failed}")


@cache
def gpu_driver() -> GpuDriver | None:
    """This machine's; None where there is no GPU or no driver."""
    count = ctypes.c_int(0)
    try:
        library = ctypes.CDLL("libcuda.so.1")
        failed = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError):
        return None
    return None if failed or not count.value else GpuDriver(library, count.value)
