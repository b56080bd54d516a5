"""The templates, the trainer and the place for samples that specialization uses in a process."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cache_adapt.audit.state import Rule
from operators.inference import Inference
from operators.recognise.recogniser import Recogniser
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.labels import Labels
from operators.recognise.specialised.own_samples import NodeSamples
from pipelines.environment import template_dirs
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import parse
from specialization.templates.stored import StoredTemplate, derived, templates_for
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

    def supply(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, rule: Rule) -> HeadSupply:
        """For one node; ModelError where the oracle has no template and none can be made of it."""
        oracle = recogniser.roles.oracle
        templates, labels = self._templates(oracle), Labels(recogniser.labels(oracle))
        features = Features(engine, recogniser, [template.name for template in templates])
        samples = NodeSamples(self.samples / spec.name, templates, features, labels)
        return HeadSupply(labels, features, samples, self.trainer, rule)

    def _templates(self, oracle: str) -> list[StoredTemplate]:
        """Those with a training set where there are any; else one cut from the oracle itself."""
        entry = self.catalogue.find(parse(oracle).model)
        found = templates_for(self.templates, entry.card)
        return [each for each in found if each.has_store] or [derived(entry, self.templates[0])]


@asynccontextmanager
async def head_training(known: Catalogue, trainer: Specializer) -> AsyncIterator[HeadTraining]:
    """Provide the training while the block runs; at its end training stops and the streams' own samples are deleted."""
    with tempfile.TemporaryDirectory(prefix="sluice-samples-") as samples:
        try:
            yield HeadTraining(known, template_dirs(), trainer, Path(samples))
        finally:
            await trainer.close()
