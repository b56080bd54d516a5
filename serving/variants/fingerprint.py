"""The fingerprint of the machine and the engine, which a measurement depends on besides the network."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import msgspec
import psutil

from serving.common.cores import usable_cores
from serving.common.versions import versions_of
from serving.variants.variant import EngineName

PACKAGES: dict[EngineName, tuple[str, ...]] = {
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "openvino": ("openvino",),
}
"""Where an engine comes from; the first that is installed counts."""


class Fingerprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine as one engine sees it: measurements hold only where all of this is the same."""

    processor: str
    cores: int
    """Those the process may use."""
    memory_gib: int
    engine: str
    """Name and version."""

    def differences(self, now: Fingerprint) -> list[str]:
        """The changes, as ``cores: was 4, is 2``; empty where there are none."""
        fields = ((name, getattr(self, name), getattr(now, name)) for name in self.__struct_fields__)
        return [f"{name}: was {before}, is {after}" for name, before, after in fields if before != after]


@cache
def fingerprint(engine: EngineName) -> Fingerprint:
    return Fingerprint(_processor(), usable_cores(), round(psutil.virtual_memory().total / (1 << 30)), _engine(engine))


def installed(engine: EngineName) -> bool:
    return _engine(engine) != engine


def _engine(engine: EngineName) -> str:
    """Name and version; the bare name where it is not installed."""
    return next((f"{package} {version}" for package, version in versions_of(PACKAGES[engine]).items()), engine)


def _processor() -> str:
    """The processor's name with what it can do for small numbers, on which int8 and bf16 depend; Linux says both."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = facts.get("flags", "").split()
    known = [
        flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8") if flag in flags
    ]
    return " ".join([facts.get("model name", platform.machine()), *known])
