"""Makes the exits of a recognise node: of single streams, and of all streams together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from cache_adapt.adaptation.targets import Subject
from cache_adapt.audit.state import Rule
from operators.recognise.chain import ChainNetworks
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.kinds import SharedExits, SpecialisedExits
from operators.recognise.exits.specialised import SpecialisedStream
from operators.recognise.exits.tuned_exits import ExitsRequest, TunedExits
from operators.recognise.labels import digest
from operators.recognise.recogniser import Recogniser
from operators.wire.result import UNKNOWN
from pipelines.assembly.environment import Audits, Environment, Learning
from pipelines.measure.exit_files import learned_exits
from pipelines.query.nodes import RecogniseNode, makes_caches, specializes, uses_caches
from serving.catalogue.lookup import Entry
from serving.errors import ModelError
from serving.variants.variant import parse

if TYPE_CHECKING:
    from cache_adapt.learned.artefact import ExitArtefact
    from cache_adapt.learned.specs import ExitCut

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Node:
    """What the exits of one node are made of."""

    spec: RecogniseNode
    recogniser: Recogniser
    environment: Environment
    rule: Rule
    learning: Learning
    entry: Entry
    """The oracle's."""
    cut: CutOracle

    def request(self, stream: str) -> ExitsRequest:
        """Exits for one stream; "": for all."""
        # Brings what exits are: not before they are wanted.
        from cache_adapt.learned.words import Words

        card, names = self.entry.card, self.recogniser.names
        subject = Subject(self.spec.name, self.recogniser.roles.oracle, card.identity, digest(names), stream)
        nameless = tuple(number for number, name in enumerate(names) if name == card.other_label)
        vocabulary = Words(len(names), self.recogniser.least_share, nameless)
        return ExitsRequest(subject, vocabulary, self.rule.accuracy, self.learning.maker())

    def fresh(self, stream: str) -> SpecialisedStream:
        where = f"stream {stream}, node {self.spec.name}"
        made = partial(self.environment.observer.head_trained, stream, self.spec.name)
        tuned = TunedExits(self.request(stream), self.cut)
        return SpecialisedStream(where, (*self.recogniser.names, UNKNOWN), tuned, made, self.rule.accuracy)
