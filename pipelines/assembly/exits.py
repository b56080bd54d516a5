"""Makes the exits of a recognise node: of single streams, and of all streams together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from cache_adapt.adaptation.targets import Subject
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.kinds import SharedExits, SpecialisedExits
from operators.recognise.exits.lent_cuts import Lender, LentCuts
from operators.recognise.exits.specialised import SpecialisedStream, rules
from operators.recognise.looks import ChainNetworks
from operators.recognise.remote_reference import RemoteReference
from operators.wire.result import UNKNOWN
from pipelines.assembly.environment import Audits, Environment, Learning
from pipelines.assembly.node_words import NodeWords, lending, lent_identity
from pipelines.measure.exit_files import learned_exits
from pipelines.query.nodes import RecogniseNode, makes_caches, specializes, uses_caches
from serving.catalogue.lookup import Entry, weights
from serving.errors import ModelError
from serving.variants.variant import parse

if TYPE_CHECKING:
    from cache_adapt.learned.artefact import ExitArtefact
    from cache_adapt.learned.specs import ExitCut
    from operators.recognise.exits.heard_exits import HeardExits
    from operators.recognise.objects.objects import Objects

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NodeExitParts:
    """The parts of the exits of one node."""

    spec: RecogniseNode
    networks: ChainNetworks
    environment: Environment
    audits: Audits
    learning: Learning
    identity: str
    """Digest of what the exits are trained on."""
    cut: CutOracle
    objects: Objects | None
    """The objects that the node answers for; None: each look is answered by itself."""

    def stream(self, stream: str) -> SpecialisedStream:
        """The state of a stream that may come to have exits of its own."""
        made = partial(self.environment.observer.exits_made, stream, self.spec.name)
        words = (*self.networks.recogniser.names, UNKNOWN)
        weg = rules(len(words), self.audits.rule.accuracy, isinstance(self.cut, LentCuts))
        return SpecialisedStream(self.subject(stream), words, weg, self.tuned, made)

    def subject(self, stream: str) -> Subject:
        """The subject of a stream's exits; "": of those for all streams."""
        oracle = self.networks.recogniser.roles.oracle
        return Subject(self.spec.name, oracle, self.identity, self._words.digest, stream)

    def tuned(self, subject: Subject, there: ExitArtefact | None = None) -> HeardExits:
        """The exits that are made for it; ``there``: those that are there already."""
        # Brings what exits are made of: not before they are wanted.
        from operators.recognise.exits.heard_exits import ExitsRequest, HeardExits

        maker = self.learning.maker()
        rule = None if self.objects is None else self.objects.pool_rule
        teaches = bool(subject.stream) or makes_caches(self.spec)
        accuracy = self.audits.rule.accuracy
        request = ExitsRequest(subject, self._words.vocabulary, accuracy, maker, self.learning.held(), rule, teaches)
        return HeardExits(request, self.cut, there)

    @cached_property
    def _words(self) -> NodeWords:
        recogniser, card = self.networks.recogniser, self.environment.engine.card(self.cut.oracle)
        return NodeWords.of(card, recogniser.names, recogniser.least_share)


def with_exits(
    spec: RecogniseNode, networks: ChainNetworks, environment: Environment, audits: Audits, objects: Objects | None
) -> ChainNetworks:
    """The networks of a node, with the exits that its oracle may have; ``objects``: those that it answers for."""
    oracle, learning = networks.recogniser.roles.oracle, audits.learning
    if len(networks.recogniser.names) < 2:  # there is nothing to tell apart
        return networks
    if learning is None or oracle not in spec.models or not (specializes(spec) or uses_caches(spec)):
        return networks
    if spec.specialize is not True and spec.caches is not True:
        networks = replace(networks, stands_in=partial(environment.stands_in, spec.name))
    makes = makes_caches(spec)
    if isinstance(environment.engine, RemoteReference):
        return _lent(spec, networks, environment, audits, environment.engine, objects)
    entry = learning.catalogue.find(parse(oracle).model)
    there = _there(entry, audits.shortcuts.query, spec.name) if uses_caches(spec) else None
    if not (specializes(spec) or makes or there):
        return networks
    find = partial(_places, entry, () if there is None else there.tensors, len(networks.recogniser.names))
    size = weights(entry).stat().st_size
    cut = CutOracle(environment.engine, oracle, find, audits.budget, size, has_exits=there is not None)
    parts = NodeExitParts(spec, networks, environment, audits, learning, entry.card.identity, cut, objects)
    shared = SharedExits(cut, partial(parts.tuned, parts.subject(""), there)) if there or makes else None
    special = SpecialisedExits(cut, parts.stream, spec.specialize is True) if specializes(spec) else None
    return replace(networks, cut=cut, specialised=special, shared=shared)


def _lent(
    spec: RecogniseNode,
    networks: ChainNetworks,
    environment: Environment,
    audits: Audits,
    reference: RemoteReference,
    objects: Objects | None,
) -> ChainNetworks:
    """The same for an oracle on another machine: exits sit on a network of this one, if the node lists one."""
    learning, makes, card = audits.learning, makes_caches(spec), environment.engine.card
    found = None if learning is None else lending(networks.recogniser.roles, learning.catalogue)
    if learning is None or found is None or networks.crossings is None or not (specializes(spec) or makes):
        return networks
    find = partial(_lent_places, found.entry, len(networks.recogniser.names))
    lender = Lender(found.model, find, weights(found.entry).stat().st_size)
    cut = LentCuts(reference, lender, audits.budget, networks.crossings)
    identity = lent_identity(card(found.model), card(reference.model))
    parts = NodeExitParts(spec, networks, environment, audits, learning, identity, cut, objects)
    shared = SharedExits(cut, partial(parts.tuned, parts.subject(""))) if makes else None
    special = SpecialisedExits(cut, parts.stream) if specializes(spec) else None
    return replace(networks, cut=cut, specialised=special, shared=shared)


def _there(entry: Entry, query: str, node: str) -> ExitArtefact | None:
    """The exits in a file; those that cannot be used are logged."""
    try:
        return learned_exits(entry, query, node)
    except ModelError as error:
        log.warning("%s; they are not used", error)
        return None


def _places(entry: Entry, tensors: Sequence[str], labels: int) -> Sequence[ExitCut]:
    """The cuts of exits that are there; where these are fewer than two, exits are tried at others too."""
    # What reads graphs takes long to import.
    from cache_adapt.learned.specs import fitting
    from pipelines.measure.exit_places import PLACES, cuts_at, exit_places

    tried = [each.tensor for each in exit_places(entry) if each.tensor not in tensors]
    return fitting(cuts_at(entry, [*tensors, *tried[: max(0, len(PLACES) - len(tensors))]]), labels)


def _lent_places(entry: Entry, labels: int) -> Sequence[ExitCut]:
    from cache_adapt.learned.specs import fitting
    from pipelines.measure.exit_places import LENT_PLACES, exit_places

    return fitting(exit_places(entry, LENT_PLACES), labels)
