"""Where learned exits lie: those of a query's node beside the variants of its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.environment import artefacts_dir
from serving.catalogue.lookup import Entry
from serving.variants.artefacts import folder

if TYPE_CHECKING:
    from cache_adapt.learned.artefact import ExitArtefact


def exits_file(entry: Entry, query: str, node: str) -> Path:
    """The exits that were learnt for a node; other weights of its oracle, or another input, have another folder."""
    return folder(artefacts_dir(), entry) / f"exits.{query}.{node}.safetensors"


def learned_exits(entry: Entry, query: str, node: str) -> ExitArtefact | None:
    """Those of a node; None: none. ModelError where they cannot be used."""
    path = exits_file(entry, query, node)
    if not path.is_file():
        return None
    from cache_adapt.learned import files  # brings what exits are made of

    return files.read(path, entry.card.name, entry.card.identity)
