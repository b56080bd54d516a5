"""Learned exits in files, with a digest beside each: one that is damaged or for another network is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cache_adapt.learned.artefact import MOST_BYTES, ExitArtefact
from serving.common import files as atomic
from serving.errors import ModelError

REMEDY = "learn them again: sluice learn QUERY"


def digest(data: bytes) -> str:
    """The sha256 of a file of exits."""
    return hashlib.sha256(data).hexdigest()


def write(path: Path, exits: ExitArtefact) -> str:
    """Write a file and, beside it, its digest, which is returned; BadInput where the place cannot be written to."""
    data = exits.to_bytes()
    atomic.write(path, data)
    atomic.write(_note(path), digest(data).encode() + b"\n")
    return digest(data)


def read(path: Path, model: str, identity: str) -> ExitArtefact | None:
    """The exits in a file; None where there is none. ModelError where it is damaged or for another network.

    ``model``: the network's name; ``identity``: the digest of what it runs.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        noted = _note(path).read_text("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    if digest(data) != noted:
        raise ModelError(f"{path}: damaged, its sha256 is not the one beside it; {REMEDY}")
    try:
        exits = ExitArtefact.from_bytes(data)
    except ModelError as error:
        raise ModelError(f"{path}: {error}; {REMEDY}") from None
    if exits.card.model_identity != identity:
        others = "other weights, or another input, than here" if exits.card.model == model else exits.card.model
        raise ModelError(f"{path}: made for {others}, not for {model}; {REMEDY}")
    return exits


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
