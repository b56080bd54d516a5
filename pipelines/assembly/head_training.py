"""The templates, the trainer and the place for samples that specialization uses in a process."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.environment import template_dirs
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import parse
from specialization.templates.stored import StoredTemplate, templates_for, to_derive
from specialization.trainer.trainer import Specializer

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere


@dataclass(frozen=True)
class HeadTraining:
    """The parts of training that all nodes share."""

    catalogue: Catalogue
    templates: Sequence[Path]
    """Directories of templates; those that are missing are made in the first."""
    trainer: Specializer
    samples: Path
    """The directory of the streams' own samples while the process runs."""
    elsewhere: Elsewhere | None = None
    """Trains in place of the trainer."""


def node_templates(oracle: str, known: Catalogue, directories: Sequence[Path]) -> list[StoredTemplate]:
    """The templates for an oracle: those with a training set, else the one that it is cut to, perhaps not made yet."""
    entry = known.find(parse(oracle).model)
    stored = [each for each in templates_for(directories, entry.card) if each.has_store]
    return stored or [to_derive(entry, directories[0])]


@asynccontextmanager
async def head_training(
    known: Catalogue, trainer: Specializer, elsewhere: Elsewhere | None = None
) -> AsyncIterator[HeadTraining]:
    """Provide the training while the block runs; at its end training stops and the streams' own samples are deleted."""
    with tempfile.TemporaryDirectory(prefix="sluice-samples-") as samples:
        try:
            yield HeadTraining(known, template_dirs(), trainer, Path(samples), elsewhere)
        finally:
            await trainer.close()
