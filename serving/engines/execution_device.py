"""The device that ONNX Runtime runs networks on: a GPU where its libraries load and one answers, else the processor.

The runtime's GPU build names TensorRT and CUDA on every machine. A session that asks for one that cannot be loaded
prints to standard output, where results may go, and falls back to others without their options. So only what can be
loaded is asked for, and what a session was given is compared with that.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.common.explain import first_line
from serving.common.precision import Device, Precision
from serving.common.silence import silent
from serving.errors import BadInput, ModelError

if TYPE_CHECKING:
    import onnxruntime as ort

log = logging.getLogger(__name__)

TENSORRT, CUDA, CPU = "TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"
LIBRARIES = {TENSORRT: "libonnxruntime_providers_tensorrt.so", CUDA: "libonnxruntime_providers_cuda.so"}
"""Files of the runtime's GPU build."""

ProviderOptions = tuple[str, dict[str, str]]


@dataclass
class DeviceChoice:
    """The process's."""

    wanted: Device = "auto"


CHOICE = DeviceChoice()


@cache
def runtime() -> Any:
    """ONNX Runtime; a process whose networks all run elsewhere does without its 8 MB."""
    with silent():
        import onnxruntime
    return onnxruntime


def use(device: Device) -> None:
    """Run networks that are opened from now on there; BadInput where a GPU is demanded and cannot be used."""
    why = why_no_gpu() if device == "cuda" else None
    if why is not None:
        raise BadInput(f"SLUICE_DEVICE is cuda, but {why}: `sluice doctor` says what helps")
    CHOICE.wanted = device


@cache
def why_no_gpu() -> str | None:
    """Why no network can be run on a GPU here, as half a sentence; None where it can."""
    if CUDA not in runtime().get_available_providers():
        return "this ONNX Runtime is built for processors only"
    if not _gpus():
        return "no NVIDIA driver tells of a GPU"
    with redirect_stdout(StringIO()):  # it prints what it does not find
        runtime().preload_dlls()
    return None if _loads(CUDA) else "the libraries of CUDA or cuDNN that this ONNX Runtime needs are not installed"


def why_not_on_gpu() -> str | None:
    """The same as ``why_no_gpu``, after a small network was opened there: takes a second where there is a GPU."""
    import onnx
    from onnx import TensorProto, helper

    if (why := why_no_gpu()) is not None:
        return why
    one, other = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("one", "other"))
    graph = helper.make_graph([helper.make_node("Neg", ["one"], ["other"])], "trial", [one], [other])
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    session = opened("trial", model.SerializeToString(), runtime().SessionOptions(), providers("fp32"))
    return "ONNX Runtime ran a small network on the processor" if session.get_providers()[0] == CPU else None


def runs_on_gpu() -> bool:
    """Whether networks are opened on a GPU from now on."""
    return CHOICE.wanted != "cpu" and why_no_gpu() is None


def providers(precision: Precision) -> list[ProviderOptions]:
    """Those to ask for, by preference and with their options; what the first cannot run falls to the next."""
    if not runs_on_gpu():
        return [(CPU, {})]
    # A GPU would round what it multiplies to 10 bits unless told not to.
    wanted: list[ProviderOptions] = [(CUDA, {"use_tf32": "0"}), (CPU, {})]
    if TENSORRT in runtime().get_available_providers() and _loads(TENSORRT):
        wanted.insert(0, (TENSORRT, {"trt_int8_enable": "1"} if precision == "int8" else {}))
    return wanted


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
def _loads(provider: str) -> bool:
    """Whether a provider's library finds all that it needs."""
    try:
        ctypes.CDLL(str(Path(runtime().__file__).parent / "capi" / LIBRARIES[provider]))
    except OSError:
        return False
    return True


def _gpus() -> int:
    """How many the NVIDIA driver tells of."""
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else count.value
