"""The device that ONNX Runtime runs networks on: a GPU where its libraries load and one answers, else the processor.

The runtime's GPU build names TensorRT and CUDA on every machine. A session that asks for one that cannot be loaded
prints to standard output, where results may go, and falls back to others without their options. So only what can be
loaded is asked for, and what a session was given is compared with that. TensorRT is not asked for: it builds a network
anew for every size of batch, for many seconds each.
"""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.common.explain import first_line
from serving.common.libraries import silent
from serving.common.precision import Device, Precision
from serving.engines.gpu_driver import GpuDriver, gpu_driver
from serving.errors import BadInput, ModelError

if TYPE_CHECKING:
    import onnxruntime as ort

log = logging.getLogger(__name__)

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_CUDA_LIBRARY = "libonnxruntime_providers_cuda.so"
"""A file of the runtime's GPU build."""
_FATAL = 4
ON_GPU: frozenset[Precision] = frozenset(("tf32", "fp16"))
"""Precisions that pay on GPUs alone, or exist there alone."""
GPU_MAX_BATCH, CPU_MAX_BATCH = 64, 16
"""The most items of one batch. A processor gains nothing by more; a GPU takes 64 small pictures in twice the time of 16
(``benchmarks/gpu.py``)."""

ProviderOptions = tuple[str, dict[str, str]]


@dataclass
class DeviceChoice:
    wanted: Device = "auto"
    index: int = 0
    """The GPU's number among those that the driver tells of."""


CHOICE = DeviceChoice()


@cache
def runtime() -> Any:
    """ONNX Runtime; a process whose networks all run elsewhere does without its 8 MB."""
    with silent():
        import onnxruntime
    # Ways of computing that a GPU does not know are tried and given up, each with a line on the terminal.
    onnxruntime.set_default_logger_severity(_FATAL)
    return onnxruntime


def use(device: Device, index: int = 0) -> None:
    """Run networks that are opened from now on there; BadInput where a GPU is demanded and cannot be used."""
    why = why_no_gpu() if device == "cuda" else None
    if why is not None:
        raise BadInput(f"SLUICE_DEVICE is cuda, but {why}: `sluice doctor` says what helps")
    driver = gpu_driver() if index else None
    if index and (driver is None or index >= driver.count):
        raise BadInput(f"SLUICE_DEVICE is cuda:{index}, but there are {0 if driver is None else driver.count} GPUs")
    CHOICE.wanted, CHOICE.index = device, index


@cache
def why_no_gpu() -> str | None:
    """Why no network can be run on a GPU here, as half a sentence; None where it can."""
    if CUDA not in runtime().get_available_providers():
        return "this ONNX Runtime is built for processors only"
    if gpu_driver() is None:
        return "no NVIDIA driver tells of a GPU"
    with redirect_stdout(StringIO()):  # it prints what it does not find
        runtime().preload_dlls()
    return None if _cuda_loads() else "the libraries of CUDA or cuDNN that this ONNX Runtime needs are not installed"


def why_not_on_gpu() -> str | None:
    """The same as ``why_no_gpu``, after a small network was opened there: takes a second where there is a GPU."""
    if (why := why_no_gpu()) is not None:
        return why
    session = opened("trial", one_node(), runtime().SessionOptions(), providers("fp32"))
    return "ONNX Runtime ran a small network on the processor" if session.get_providers()[0] == CPU else None


def one_node() -> bytes:
    """The smallest network, N × 1 → N × 1."""
    from onnx import TensorProto, helper

    given, answer = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [given], [answer])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def runs_on_gpu() -> bool:
    """Whether networks are opened on a GPU from now on."""
    return CHOICE.wanted != "cpu" and why_no_gpu() is None


def max_batch() -> int:
    """The most items of one batch on the device that networks are opened on from now on."""
    return GPU_MAX_BATCH if runs_on_gpu() else CPU_MAX_BATCH


def gpu_name() -> str | None:
    """The name of the GPU that runs networks; None where none runs them."""
    return None if (driver := _driver()) is None else driver.name(CHOICE.index)


def gpu_uuid() -> str | None:
    """By which other libraries know the GPU that runs networks; None where none runs them."""
    return None if (driver := _driver()) is None else driver.uuid(CHOICE.index)


def cost_s(processor_s: Callable[[], float] = time.process_time) -> float:
    """The cost of networks, in seconds so far: of the GPU, which runs one batch at a time, else of processors.

    A processor that waits for a GPU sleeps. ``processor_s``: the processor seconds so far that count.
    """
    return time.perf_counter() if runs_on_gpu() else processor_s()


def used_bytes() -> int | None:
    """Memory that is taken of the GPU that runs networks, by whichever process; None where none runs them."""
    return None if (driver := _driver()) is None else driver.used_bytes(CHOICE.index)


def free_bytes() -> int | None:
    """Memory that is free on the GPU that runs networks; None where none runs them."""
    return None if (driver := _driver()) is None else driver.free_bytes(CHOICE.index)


def _driver() -> GpuDriver | None:
    return gpu_driver() if runs_on_gpu() else None


def providers(precision: Precision) -> list[ProviderOptions]:
    """Those to ask for, by preference and with their options; what the first cannot run falls to the next."""
    if (driver := _driver()) is None:
        return [(CPU, {})]
    driver.sleep_while_waiting(CHOICE.index)
    options = {
        "device_id": str(CHOICE.index),
        # A GPU would round what it multiplies to 10 bits unless told not to.
        "use_tf32": "1" if precision == "tf32" else "0",
        # For every size of batch it tries how to compute: trying all ways takes up to 1.8 s and gains a tenth at most.
        "cudnn_conv_algo_search": "HEURISTIC",
        "arena_extend_strategy": "kSameAsRequested",
    }
    return [(CUDA, options), (CPU, {})]


def opened(
    name: str, graph: bytes, options: ort.SessionOptions, wanted: Sequence[ProviderOptions]
) -> ort.InferenceSession:
    """A session on the first of the providers that opens the network, with its options.

    Raises the runtime's error where the last one fails; ModelError where a GPU is demanded and does not run it.
    """
    session = _first_that_opens(name, graph, options, wanted)
    asked, given = wanted[0][0], session.get_providers()[0]
    if CHOICE.wanted == "cuda" and given == CPU:
        raise ModelError(f"model {name!r}: SLUICE_DEVICE is cuda, but ONNX Runtime runs it on the processor")
    if given != asked:
        log.warning("model %s: ONNX Runtime runs it by %s, not by %s", name, given, asked)
    return session


def _first_that_opens(
    name: str, graph: bytes, options: ort.SessionOptions, wanted: Sequence[ProviderOptions]
) -> ort.InferenceSession:
    for first in range(len(wanted) - 1):
        try:
            return runtime().InferenceSession(graph, options, providers=wanted[first:], enable_fallback=0)
        except Exception as error:  # the runtime's exceptions share no base but Exception
            log.warning("model %s: %s does not open it: %s", name, wanted[first][0], first_line(error))
    return runtime().InferenceSession(graph, options, providers=wanted[-1:])


@cache
def _cuda_loads() -> bool:
    """Whether the runtime's part for CUDA finds all that it needs."""
    try:
        ctypes.CDLL(str(Path(runtime().__file__).parent / "capi" / _CUDA_LIBRARY))
    except OSError:
        return False
    return True
