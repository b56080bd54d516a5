"""The figures measured of a variant here: its profile, and times that were measured in passing, kept beside profiles.

Times are measured at several moments, of which the least counts: whatever else the machine did only added to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.variants import profiles
from serving.variants.artefacts import folder
from serving.variants.profiles import Fingerprint, fingerprint
from serving.variants.variant import Variant

SCHEMA = "sluice.timing/1"
KEPT = 4
"""Moments that are kept, the newest: what is true no more is forgotten."""


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times of one variant on one machine."""

    schema: str = SCHEMA
    variant: str
    model_sha256: str
    fingerprint: Fingerprint
    tail_s: Mapping[int, float]
    """Seconds that a batch of so many items seldom exceeds: the least of the moments."""
    moments: tuple[Mapping[int, float], ...] = ()
    """The same as measured at each; none in files that were written when one moment was measured only."""


@dataclass(frozen=True, slots=True)
class VariantFigures:
    """The figures of a variant on this machine."""

    tail_s: Mapping[int, float]
    """Seconds that a batch of so many items seldom exceeds."""
    agreement: float | None
    """With the unchanged network; None where only times were measured."""
    accuracy: float | None = None
    """Share of right answers, where that was measured."""
    data_sha256: str = ""
    """Checksum of what agreement and accuracy were measured on."""
    moments: int = 1
    """Moments at which times were measured."""


def measured(entry: Entry, variant: Variant, artefacts_dir: Path) -> VariantFigures | None:
    """The figures of a variant, None for none.

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
    """Keep what was measured at one more moment; raises BadInput where it cannot be written."""
    try:
        known = _fresh(entry, variant, artefacts_dir)
    except ModelError:
        known = None  # it holds no more
    before = () if known is None else known.moments or (known.tail_s,)
    moments = (*before, tail_s)[-KEPT:]
    found = Timing(
        variant=variant.profiled.id,
        model_sha256=entry.card.sha256,
        fingerprint=fingerprint(variant.engine),
        tail_s=least(moments),
        moments=moments,
    )
    atomic.write(_path(folder(artefacts_dir, entry), variant), msgspec.json.encode(found) + b"\n")


def least(moments: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the least seconds of all moments for each batch size of any."""
    sizes = sorted({size for moment in moments for size in moment})
    return {size: min(moment[size] for moment in moments if size in moment) for size in sizes}


def _profiled(entry: Entry, variant: Variant, artefacts_dir: Path) -> VariantFigures | None:
    profile = profiles.read(folder(artefacts_dir, entry), variant)
    if profile is None:
        return None
    _require_fresh(variant, profile.model_sha256, profile.fingerprint, entry)
    tail_s, moments = profile.latency_p95_s, 1
    try:
        timing = _fresh(entry, variant, artefacts_dir)
    except ModelError:
        timing = None
    if timing is not None:
        tail_s, moments = _corrected(tail_s, timing.tail_s), 1 + len(timing.moments)
    return VariantFigures(tail_s, profile.agreement, profile.accuracy, profile.data_sha256, moments)


def _corrected(profiled_s: Mapping[int, float], timed_s: Mapping[int, float]) -> dict[int, float]:
    """The times of a profile, where a quieter moment has shown less: larger batches are less in the same proportion."""
    ratios = {size: min(timed_s[size] / seconds, 1.0) for size, seconds in profiled_s.items() if size in timed_s}
    largest = max(ratios, default=None)
    beyond = 1.0 if largest is None else ratios[largest]
    return {size: seconds * ratios.get(size, beyond) for size, seconds in profiled_s.items()}


def _timed(entry: Entry, variant: Variant, artefacts_dir: Path) -> VariantFigures | None:
    timing = _fresh(entry, variant, artefacts_dir)
    return None if timing is None else VariantFigures(timing.tail_s, None, moments=max(len(timing.moments), 1))


def _fresh(entry: Entry, variant: Variant, artefacts_dir: Path) -> Timing | None:
    """The times that were measured in passing; ModelError where they cannot be used."""
    timing = _read(folder(artefacts_dir, entry), variant)
    if timing is not None:
        _require_fresh(variant, timing.model_sha256, timing.fingerprint, entry)
    return timing


def _read(directory: Path, variant: Variant) -> Timing | None:
    path = _path(directory, variant)
    try:
        found = decode(path.read_bytes(), Timing)
    except FileNotFoundError:
        return None
    except (OSError, Malformed) as error:
        raise ModelError(f"{path}: not what was measured ({error}); remove it") from error
    is_possible = all(map(profiles.is_possible, (found.tail_s, *found.moments)))
    if found.schema != SCHEMA or found.variant != variant.profiled.id or not is_possible:
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
