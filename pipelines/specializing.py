"""What specialization needs of the process it runs in: templates, somebody who trains, a place for samples."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cache_adapt.audit_state import Rule
from operators.inference import Inference
from operators.recognise.recogniser import Recogniser
from operators.recognise.workshop import Workshop
from pipelines.models import template_dirs
from pipelines.nodes import RecogniseNode
from serving.catalogue import Catalogue
from serving.variants import parse
from specialization.specializer import Specializer
from specialization.templates import StoredTemplate, derived, templates_for


@dataclass(frozen=True)
class Specializing:
    """Shared by all nodes that specialise."""

    catalogue: Catalogue
    templates: Sequence[Path]
    """Directories of templates; those that are missing are made in the first."""
    specializer: Specializer
    samples: Path
    """Where streams' own samples are kept while the process runs."""

    def workshop(
        self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, oracle: str, rule: Rule
    ) -> Workshop:
        """For one node; ModelError where the oracle has no template and none can be made of it."""
        templates = self._templates(spec, oracle)
        return Workshop(engine, recogniser, oracle, templates, self.specializer, rule, self.samples / spec.name)

    def _templates(self, spec: RecogniseNode, oracle: str) -> list[StoredTemplate]:
        """Those with a training set where there are any; else one cut from the oracle itself.

        A training set knows what the network says, not what the node makes of it where that is unsure.
        """
        entry = self.catalogue.find(parse(oracle).model)
        found = [] if spec.min_confidence else templates_for(self.templates, entry.card)
        return [each for each in found if each.has_store] or [derived(entry, self.templates[0])]

    async def close(self) -> None:
        """Train no more."""
        await self.specializer.close()


@contextmanager
def specializing(known: Catalogue, specializer: Specializer) -> Iterator[Specializing]:
    """For as long as a run or a worker lasts; the streams' own samples are deleted then."""
    with tempfile.TemporaryDirectory(prefix="sluice-samples-") as samples:
        yield Specializing(known, template_dirs(), specializer, Path(samples))
