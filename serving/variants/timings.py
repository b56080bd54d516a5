"""What was measured of a variant here: its profile, or times that were measured in passing, kept beside profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.variants import profiles
from serving.variants.artefacts import folder
from serving.variants.fingerprint import Fingerprint, fingerprint
from serving.variants.variant import Variant

SCHEMA = "sluice.timing/1"


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times of one variant on one machine."""

    schema: str = SCHEMA
    variant: str
    model_sha256: str
    fingerprint: Fingerprint
    tail_s: Mapping[int, float]
    """Seconds that a batch of so many items seldom exceeds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of a variant on this machine."""

    tail_s: Mapping[int, float]
    """Seconds that a batch of so many items seldom exceeds."""
    agreement: float | None
    """With the unchanged network; None where only times were measured."""
    accuracy: float | None = None
    """Share of right answers, where that was measured."""
    data_sha256: str = ""
    """Checksum of what agreement and accuracy were measured on."""


def measured(entry: Entry, variant: Variant, artefacts_dir: Path) -> Measured | None:
    """What is known of a variant, None for nothing.

    Raises ModelError, in a line that says what to do, for what was measured on another machine or cannot be true.
    """
    try:
        found = _profiled(entry, variant, artefacts_dir)
    except ModelError:
        found = _timed(entry, variant, artefacts_dir)
        if found is None:
            raise
    return found or _timed(entry, variant, artefacts_dir)


def store(tail_s: Mapping[int, float], entry: Entry, variant: Variant, artefacts_dir: Path) -> None:
    """Keep what was measured; raises BadInput where it cannot be written."""
    found = Timing(
        variant=variant.profiled.id,
        model_sha256=entry.card.sha256,
        fingerprint=fingerprint(variant.engine),
        tail_s=tail_s,
    )
    atomic.write(_path(folder(artefacts_dir, entry), variant), msgspec.json.encode(found) + b"\n")


def _profiled(entry: Entry, variant: Variant, artefacts_dir: Path) -> Measured | None:
    profile = profiles.read(folder(artefacts_dir, entry), variant)
    if profile is None:
        return None
    _require_fresh(variant, profile.model_sha256, profile.fingerprint, entry)
    return Measured(profile.latency_p95_s, profile.agreement, profile.accuracy, profile.data_sha256)


def _timed(entry: Entry, variant: Variant, artefacts_dir: Path) -> Measured | None:
    timing = _read(folder(artefacts_dir, entry), variant)
    if timing is None:
        return None
    _require_fresh(variant, timing.model_sha256, timing.fingerprint, entry)
    return Measured(timing.tail_s, None)


def _read(directory: Path, variant: Variant) -> Timing | None:
    path = _path(directory, variant)
    try:
        found = decode(path.read_bytes(), Timing)
    except FileNotFoundError:
        return None
    except (OSError, Malformed) as error:
        raise ModelError(f"{path}: not what was measured ({error}); remove it") from error
    if found.schema != SCHEMA or found.variant != variant.profiled.id or not profiles.is_possible(found.tail_s):
        raise ModelError(f"{path}: not what was measured of {variant.profiled.id}; remove it")
    return found


def _path(directory: Path, variant: Variant) -> Path:
    return directory / f"{variant.profiled.id.partition('@')[2]}.times.json"


def _require_fresh(variant: Variant, model_sha256: str, then: Fingerprint, entry: Entry) -> None:
    changed = [] if model_sha256 == entry.card.sha256 else ["model: the weights have changed"]
    changed += then.differences(fingerprint(variant.engine))
    if changed:
        raise ModelError(
            f"what was measured of {variant.profiled.id} holds no more ({'; '.join(changed)}); "
            f"measure it with: sluice models profile {variant.model}"
        )
