"""A machine's strengths and gaps, in lines with what to do. Pure: from facts that ``machine`` gathers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pipelines.process.extras import install

State = Literal["ok", "note", "missing"]

CODECS = {"h264": "H.264", "hevc": "H.265", "mjpeg": "Motion JPEG", "av1": "AV1"}
LEAST_MEMORY = 2 << 30
"""Bytes below which a worker is told to be tight."""
GPU_INSTALL = f"pip uninstall -y onnxruntime && {install('gpu')}"


@dataclass(frozen=True)
class Machine:
    processor: str
    cores: int
    memory_bytes: int
    """The most that this process may have."""
    flags: frozenset[str]
    """The processor's, as Linux names them; empty where they are not known."""
    versions: dict[str, str]
    """Versions of installed packages, by name."""
    gpu: str | None
    """The name of an NVIDIA GPU."""
    why_not_on_gpu: str | None
    """Why networks do not run on it, as half a sentence; None where they do, or there is none."""
    codecs: frozenset[str]
    models: int
    """That are here and whole."""
    faulty: tuple[str, ...]
    """The faults of others."""
    broker: str | None
    """Its address; None where none is set."""
    refusal: str | None
    """Why the broker does not let us in; None where it does."""
    absent: tuple[str, ...]
    """Extras that are not installed."""


@dataclass(frozen=True)
class MachineFinding:
    what: str
    state: State
    said: str
    remedy: str = ""
    """The command or setting that helps."""


def findings(machine: Machine) -> list[MachineFinding]:
    """All lines, in the order in which they are shown."""
    return [
        _memory(machine),
        *_engines(machine),
        _precisions(machine),
        _gpu(machine),
        _extras(machine),
        *_decoders(machine),
        _models(machine),
        _broker(machine),
    ]


def _memory(machine: Machine) -> MachineFinding:
    said = f"{machine.processor}, {machine.cores} cores, {machine.memory_bytes / 2**30:.1f} GiB for this process"
    if machine.memory_bytes < LEAST_MEMORY:
        return MachineFinding("machine", "note", said, "bound what is kept: see docs/memory.md")
    return MachineFinding("machine", "ok", said)


def _engines(machine: Machine) -> Iterator[MachineFinding]:
    runtime = machine.versions.get("onnxruntime") or machine.versions.get("onnxruntime-gpu")
    if runtime is None:
        yield MachineFinding("ONNX Runtime", "missing", "no network can run", "pip install onnxruntime")
    else:
        yield MachineFinding("ONNX Runtime", "ok", runtime)
    openvino = machine.versions.get("openvino")
    if openvino is None:
        faster = "not installed; on this kind of processor it runs networks in bf16 and int8"
        yield MachineFinding("OpenVINO", "note", faster, install("openvino"))
    else:
        yield MachineFinding("OpenVINO", "ok", openvino)


def _precisions(machine: Machine) -> MachineFinding:
    if not machine.flags:
        return MachineFinding("precisions", "note", "what the processor computes fast is not known on this system")
    fast = ["fp32"]
    if machine.flags & {"avx512_bf16", "amx_bf16"}:
        fast.append("bf16")
    if machine.flags & {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp"}:
        fast.append("int8")
    return MachineFinding("precisions", "ok", f"fast in hardware: {', '.join(fast)}")


def _gpu(machine: Machine) -> MachineFinding:
    if machine.gpu is None:
        return MachineFinding("GPU", "ok", "none; networks run on the processor")
    if machine.why_not_on_gpu is None:
        return MachineFinding("GPU", "ok", f"{machine.gpu}, by ONNX Runtime")
    return MachineFinding("GPU", "missing", f"{machine.gpu} is here, but {machine.why_not_on_gpu}", GPU_INSTALL)


def _decoders(machine: Machine) -> Iterator[MachineFinding]:
    here = [name for codec, name in CODECS.items() if codec in machine.codecs]
    absent = [name for codec, name in CODECS.items() if codec not in machine.codecs]
    if not absent:
        yield MachineFinding("decoders", "ok", ", ".join(here))
    else:
        remedy = "pip install --force-reinstall av"
        yield MachineFinding(
            "decoders", "missing", f"no {', '.join(absent)}; there are {', '.join(here) or 'none'}", remedy
        )


def _models(machine: Machine) -> MachineFinding:
    if machine.faulty:
        more = f" and {len(machine.faulty) - 1} more" if len(machine.faulty) > 1 else ""
        return MachineFinding("models", "missing", f"{machine.faulty[0]}{more}", "sluice models verify")
    return MachineFinding(
        "models", "ok", f"{machine.models} are here; `sluice models list` names those that can be pulled"
    )


def _broker(machine: Machine) -> MachineFinding:
    if machine.broker is None:
        return MachineFinding(
            "broker", "note", "none is set; `sluice run` needs none", "export SLUICE_BROKER=kafka://HOST:9092"
        )
    if machine.refusal is None:
        return MachineFinding("broker", "ok", f"{machine.broker} answers")
    return MachineFinding(
        "broker", "missing", f"{machine.broker}: {machine.refusal}", "see that it runs: docs/deploy.md"
    )


def _extras(machine: Machine) -> MachineFinding:
    if not machine.absent:
        return MachineFinding("extras", "ok", "all are installed")
    return MachineFinding("extras", "note", f"not installed: {', '.join(machine.absent)}", install(*machine.absent))
