"""The parts of which the links of a node are made."""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.state import Rule
from operators.inference import Inference
from operators.recognise.account.books import Books
from operators.recognise.cached.sampled_engine import SampledEngine
from operators.recognise.classifier import Classifier
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.terms import Listeners
from pipelines.assembly.environment import Training
from pipelines.query.nodes import RecogniseNode


@dataclass(frozen=True)
class LinkParts:
    """The parts of which the links of one node are made."""

    spec: RecogniseNode
    engine: Inference
    """The one that the recogniser asks."""
    recogniser: Classifier | GalleryRecogniser
    rule: Rule
    books: Books
    listeners: Listeners
    training: Training | None
    """None: nothing learns."""
    taps: SampledEngine | None
    """The engine, where samples for caches in the oracle can be taken."""

    @property
    def oracle(self) -> str:
        return self.recogniser.roles.oracle
