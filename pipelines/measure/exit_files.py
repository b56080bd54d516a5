"""Where learned exits lie: beside the variants and profiles of their model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.environment import artefacts_dir
from serving.catalogue.lookup import Entry
from serving.variants.artefacts import folder

if TYPE_CHECKING:
    from cache_adapt.learned.artefact import ExitArtefact

FILE = "exits.safetensors"


def exits_file(entry: Entry) -> Path:
    """The exits of a model; other weights, or another input, have another folder."""
    return folder(artefacts_dir(), entry) / FILE


def learned_exits(entry: Entry) -> ExitArtefact | None:
    """They, if there are any; ModelError where they cannot be used."""
    path = exits_file(entry)
    if not path.is_file():
        return None
    from cache_adapt.learned import files  # brings what exits are made of

    return files.read(path, entry.card.name, entry.card.identity)
