"""Makes the link of heads of a node. It brings what trains and runs heads: import it where they may be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from operators.recognise.labels import Labels
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.heads import Heads
from operators.recognise.specialised.made_elsewhere import HeadsMadeElsewhere
from operators.recognise.specialised.makers import HeadsMadeHere
from operators.recognise.specialised.own_samples import NodeSamples
from operators.wire.result import UNKNOWN
from pipelines.assembly.environment import Training
from pipelines.assembly.link_parts import LinkParts
from serving.catalogue.lookup import Catalogue
from serving.engines.exits import Exits
from serving.variants.variant import parse
from specialization.templates.derive import derived
from specialization.templates.stored import StoredTemplate, templates_for, to_derive


def node_templates(oracle: str, known: Catalogue, directories: Sequence[Path]) -> list[StoredTemplate]:
    """The templates for an oracle: those with a training set, else the one that it is cut to, perhaps not made yet."""
    entry = known.find(parse(oracle).model)
    stored = [each for each in templates_for(directories, entry.card) if each.has_store]
    return stored or [to_derive(entry, directories[0])]


def heads(parts: LinkParts, training: Training, exits: Callable[[], Exits | None]) -> Heads:
    """Return the link; call this on the event loop. ``exits``: where caches answer in the oracle."""
    supply = _supply(parts, training, exits)
    return Heads(parts.spec.name, parts.recogniser, supply, parts.listeners, parts.spec.answer == "track")


def _supply(parts: LinkParts, training: Training, exits: Callable[[], Exits | None]) -> HeadSupply:
    """Return what supplies the heads of a node, whose books tell what may be paid."""
    node, recogniser = parts.spec.name, parts.recogniser
    entry = training.catalogue.find(parse(parts.oracle).model)
    templates = node_templates(parts.oracle, training.catalogue, training.templates)
    make = None if templates[0].has_store else partial(derived, entry, training.templates[0])
    shares = {each.name: each.manifest.cost for each in templates}
    early = [each.name for each in templates if each.is_early]
    features = Features(parts.engine, recogniser, shares, make, early, exits)
    labels = Labels(recogniser.labels(parts.oracle), (entry.card.other_label or UNKNOWN, UNKNOWN))
    away = HeadsMadeElsewhere(training.elsewhere, node, features, labels) if training.elsewhere else None
    samples = NodeSamples(training.samples / node, templates, features, labels, outlet=away.sample if away else None)
    return HeadSupply(samples, away or HeadsMadeHere(training.trainer, samples), parts.rule, parts.books)
