"""Where learned exits lie: those of a query's node beside the variants of its model, those that ship beside that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.environment import artefacts_dir
from serving.catalogue.lookup import Entry
from serving.variants.artefacts import folder

if TYPE_CHECKING:
    from cache_adapt.learned.artefact import ExitArtefact

SHIPPED = "exits.safetensors"


def exits_file(entry: Entry, query: str, node: str) -> Path:
    """The exits that were learnt for a node; other weights of its oracle, or another input, have another folder."""
    return folder(artefacts_dir(), entry) / f"exits.{query}.{node}.safetensors"


def learned_exits(entry: Entry, query: str, node: str) -> ExitArtefact | None:
    """Those of a node, else those that ship with its model; None: none. ModelError where they cannot be used."""
    found = [path for path in (exits_file(entry, query, node), entry.path.with_name(SHIPPED)) if path.is_file()]
    if not found:
        return None
    from cache_adapt.learned import files  # brings what exits are made of

    return files.read(found[0], entry.card.name, entry.card.identity)
