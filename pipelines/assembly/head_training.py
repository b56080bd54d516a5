"""The templates, the trainer and the place for samples that specialization uses in a process."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.audit.state import Rule
from operators.inference import Inference
from operators.recognise.account.books import Books
from operators.recognise.recogniser import Recogniser
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.labels import Labels
from operators.recognise.specialised.made_elsewhere import MadeElsewhere
from operators.recognise.specialised.makers import MadeHere
from operators.recognise.specialised.own_samples import NodeSamples
from operators.wire.labels import UNKNOWN
from pipelines.environment import template_dirs
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.engines.exits import Exits
from serving.variants.variant import parse
from specialization.templates.stored import StoredTemplate, derived, templates_for, to_derive
from specialization.trainer.trainer import Specializer


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

    def supply(
        self,
        spec: RecogniseNode,
        engine: Inference,
        recogniser: Recogniser,
        rule: Rule,
        books: Books,
        exits: Callable[[], Exits | None] = lambda: None,
    ) -> HeadSupply:
        """For one node, whose ``books`` tell what may be paid; ``exits``: gives those of its learned caches."""
        oracle = recogniser.roles.oracle
        entry = self.catalogue.find(parse(oracle).model)
        templates = node_templates(oracle, self.catalogue, self.templates)
        make = None if templates[0].has_store else partial(derived, entry, self.templates[0])
        shares = {each.name: each.manifest.cost for each in templates}
        early = [each.name for each in templates if each.is_early]
        features = Features(engine, recogniser, shares, make, early, exits)
        labels = Labels(recogniser.labels(oracle), (entry.card.other_label or UNKNOWN, UNKNOWN))
        away = MadeElsewhere(self.elsewhere, spec.name, features, labels) if self.elsewhere else None
        samples = NodeSamples(
            self.samples / spec.name, templates, features, labels, outlet=away.sample if away else None
        )
        return HeadSupply(samples, away or MadeHere(self.trainer, samples), rule, books)


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
