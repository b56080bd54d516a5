"""Whether a changed network says what the original says: tried once for each change, and kept beside its artefacts.

Both run on the same picture, and the largest difference counts, as a share of the largest number of an output where
that exceeds 1. What was found holds for as long as the engine stays the same. A change itself takes milliseconds and is
made anew at every start, so that no second copy of the weights lies about.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from serving.common import files as atomic
from serving.common.explain import first_line
from serving.common.untrusted import decode, printable
from serving.errors import Malformed, ModelError, SluiceError
from serving.variants.profiles import fingerprint
from serving.variants.variant import Variant

log = logging.getLogger(__name__)

TOLERANCE = 1e-4
"""The largest difference with which a changed network may take its original's place."""
EDITION = 2
"""Counts up when changes are made otherwise than before: what was found of them holds no more."""

LARGEST = 64 << 10
"""Bytes of what is kept."""
MOST = 64
"""Changes of a network whose proofs are kept."""
LONGEST = 300
"""Characters of a reason."""


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    difference: float | None
    """The largest one; None where the changed network did not run."""
    refused: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    """Why it is not used; empty where it is."""


class Proofs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The proofs of one network's changes, by change."""

    engine: str
    edition: int
    found: Annotated[dict[str, Proof], msgspec.Meta(max_length=MOST)]


def proven(directory: Path | None, variant: Variant, change: str, difference: Callable[[], float]) -> float:
    """Return by how much a changed network differs, as was found before or is found now; ModelError where too much.

    ``difference`` runs both. Whatever it raises, the change is refused.
    """
    kept = read(directory, variant)
    if change not in kept.found:
        found = _tried(difference)
        kept = msgspec.structs.replace(kept, found=dict([*kept.found.items(), (change, found)][-MOST:]))
        _write(directory, variant, kept)
    proof = kept.found[change]
    if proof.refused or proof.difference is None:
        raise ModelError(proof.refused)
    return proof.difference


def read(directory: Path | None, variant: Variant) -> Proofs:
    """Return what was found of a network's changes; nothing where it was not kept, cannot be read or holds no more."""
    engine = fingerprint("onnxruntime").engine
    fresh = Proofs(engine, EDITION, {})
    if directory is None:
        return fresh
    try:
        kept = decode(_path(directory, variant).read_bytes(), Proofs, LARGEST)
    except (OSError, Malformed):
        return fresh
    return kept if (kept.engine, kept.edition) == (engine, EDITION) else fresh


def _tried(difference: Callable[[], float]) -> Proof:
    try:
        found = difference()
    except Exception as error:  # whatever a network raises, or what changes it
        return Proof(None, printable(first_line(error), LONGEST))
    if found <= TOLERANCE:
        return Proof(found)
    return Proof(None, f"its numbers differ by {found:.2g}, more than {TOLERANCE:g}")


def _write(directory: Path | None, variant: Variant, proofs: Proofs) -> None:
    if directory is None:
        return
    try:
        atomic.write(_path(directory, variant), msgspec.json.encode(proofs))
    except SluiceError as error:
        log.info("%s: its changes are tried at every start: %s", variant.id, error)


def _path(directory: Path, variant: Variant) -> Path:
    return directory / f"{variant.profiled.id.partition('@')[2]}.changes.json"
