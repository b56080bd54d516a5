"""Profiles: what was measured of a variant on this machine, kept as JSON and refused where it holds no more.

Latencies are medians. They hold for one fingerprint of machine and engine, on which a measurement depends as well.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import psutil

from serving.common import files as atomic
from serving.common.libraries import versions_of
from serving.common.threads import usable_cores
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.variants.variant import EngineName, Variant, parse

PACKAGES: dict[EngineName, tuple[str, ...]] = {
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "openvino": ("openvino",),
}
"""Where an engine comes from; the first that is installed counts."""
SMALL_NUMBERS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8")
"""A processor's flags."""


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
    memory_gib = round(psutil.virtual_memory().total / (1 << 30))
    return Fingerprint(_able() + _gpu(engine), usable_cores(), memory_gib, _engine(engine))


def installed(engine: EngineName) -> bool:
    return _engine(engine) != engine


def _gpu(engine: EngineName) -> str:
    """The GPU that networks run on, to be added to the processor; empty where none is used."""
    if not _engine(engine).startswith("onnxruntime-gpu"):
        return ""
    from serving.engines.execution_device import gpu_name  # brings the runtime

    return f" with {name}" if (name := gpu_name()) is not None else ""


def _engine(engine: EngineName) -> str:
    """Name and version; the bare name where it is not installed."""
    return next((f"{package} {version}" for package, version in versions_of(PACKAGES[engine]).items()), engine)


def processor(info: Path = Path("/proc/cpuinfo")) -> tuple[str, frozenset[str]]:
    """Name and flags; Linux says both in a file, under names that depend on the processor's kind."""
    try:
        lines = [line.partition(":") for line in info.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return platform.processor() or platform.machine(), frozenset()
    facts = {key.strip().lower(): value.strip() for key, _, value in lines}
    flags = facts.get("flags") or facts.get("features") or ""
    return facts.get("model name") or platform.machine(), frozenset(flags.split())


def _able() -> str:
    """The processor's name with what it can do for small numbers, on which int8 and bf16 depend."""
    name, flags = processor()
    return " ".join([name, *(flag for flag in SMALL_NUMBERS if flag in flags)])


SCHEMA = "sluice.profile/1"
LONGEST_S = 3600.0
"""A batch that takes longer was not measured."""


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One variant on one machine."""

    schema: str = SCHEMA
    variant: str
    """Its id, without a batch limit."""
    model_sha256: str
    """Checksum of the network's own file."""
    fingerprint: Fingerprint
    latency_s: Mapping[int, float]
    """ℓ(b) for b = 1, 2, 4 …, the whole network, median."""
    latency_p95_s: Mapping[int, float]
    load_s: float
    """Opening it and running it once at the largest batch."""
    memory_bytes: int
    """Resident, after a run at the largest batch."""
    accuracy: float | None
    """Share of right answers; None where the data had no labels."""
    agreement: float
    """Share of the reference's answers that this variant gives as well."""
    items: int
    """So many were compared."""
    data: str
    """A description of the data for people."""
    data_sha256: str
    """Checksum of the data for calibration and comparison."""
    measured_at: str
    """ISO 8601, UTC."""

    @property
    def max_batch(self) -> int:
        return max(self.latency_s)

    def stale(self, model_sha256: str, now: Fingerprint) -> list[str]:
        """Why these figures hold no more, as ``cores: was 4, is 2``; empty where they do."""
        other = [] if model_sha256 == self.model_sha256 else ["model: the weights have changed"]
        return other + self.fingerprint.differences(now)


def path_of(directory: Path, variant: Variant) -> Path:
    """Where a variant's profile lies among those of its model."""
    return directory / f"{variant.profiled.id.partition('@')[2]}.json"


def store(profile: Profile, directory: Path) -> Path:
    """Write a profile among those of its model; raises BadInput where the directory cannot be written."""
    path = path_of(directory, parse(profile.variant))
    atomic.write(path, msgspec.json.format(msgspec.json.encode(profile), indent=1) + b"\n")
    return path


def read(directory: Path, variant: Variant) -> Profile | None:
    """A variant's profile whether it still holds or not, None where there is none; ModelError for a damaged file."""
    path = path_of(directory, variant)
    try:
        profile = decode(path.read_bytes(), Profile)
    except FileNotFoundError:
        return None
    except (OSError, Malformed) as error:
        raise ModelError(f"{path}: not a profile ({error}); {_measure(variant)}") from error
    if profile.schema != SCHEMA or profile.variant != variant.profiled.id or not profile.latency_s:
        raise ModelError(f"{path}: not a profile of {variant.profiled.id}; {_measure(variant)}")
    if fault := _fault(profile):
        raise ModelError(f"{path}: {fault}, which cannot be; {_measure(variant)} --again")
    return profile


def is_possible(seconds: Mapping[int, float]) -> bool:
    """Whether these can be times by batch size."""
    return bool(seconds) and all(batch > 0 and 0 < each <= LONGEST_S for batch, each in seconds.items())


def _fault(profile: Profile) -> str | None:
    """A fault of figures that cannot be; None where all are possible."""
    for name, seconds in (("latency_s", profile.latency_s), ("latency_p95_s", profile.latency_p95_s)):
        if not is_possible(seconds):
            return f"{name} is {dict(seconds)}"
    shares = {"agreement": profile.agreement, "accuracy": profile.accuracy}
    return next(
        (f"{name} is {share}" for name, share in shares.items() if share is not None and not 0 <= share <= 1), None
    )


def _measure(variant: Variant) -> str:
    return f"measure it with: sluice models profile {variant.model}"


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each (latency, quality) whether none other is at least as good in both and better in one."""
    return [
        not any(
            latency <= own_latency and quality >= own_quality and (latency, quality) != (own_latency, own_quality)
            for latency, quality in points
        )
        for own_latency, own_quality in points
    ]
