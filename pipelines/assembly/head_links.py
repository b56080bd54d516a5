"""Makes the link of heads of a node. It brings what trains and runs heads: import it where they may be used."""

from __future__ import annotations

from functools import partial

from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.heads import Heads
from operators.recognise.specialised.labels import Labels
from operators.recognise.specialised.made_elsewhere import HeadsMadeElsewhere
from operators.recognise.specialised.makers import HeadsMadeHere
from operators.recognise.specialised.own_samples import NodeSamples
from operators.wire.labels import UNKNOWN
from pipelines.assembly.head_training import node_templates
from pipelines.assembly.links import LinkParts
from serving.variants.variant import parse
from specialization.templates.stored import derived


def heads(parts: LinkParts) -> Heads:
    """Return the link; call this on the event loop."""
    return Heads(parts.spec.name, parts.recogniser, head_supply(parts), parts.listeners, parts.spec.answer == "track")


def head_supply(parts: LinkParts) -> HeadSupply:
    """Return what supplies the heads of a node, whose books tell what may be paid."""
    node, recogniser, training = parts.spec.name, parts.recogniser, parts.learning
    entry = training.catalogue.find(parse(parts.oracle).model)
    templates = node_templates(parts.oracle, training.catalogue, training.templates)
    make = None if templates[0].has_store else partial(derived, entry, training.templates[0])
    shares = {each.name: each.manifest.cost for each in templates}
    early = [each.name for each in templates if each.is_early]
    features = Features(parts.engine, recogniser, shares, make, early, parts.exits)
    labels = Labels(recogniser.labels(parts.oracle), (entry.card.other_label or UNKNOWN, UNKNOWN))
    away = HeadsMadeElsewhere(training.elsewhere, node, features, labels) if training.elsewhere else None
    samples = NodeSamples(training.samples / node, templates, features, labels, outlet=away.sample if away else None)
    return HeadSupply(samples, away or HeadsMadeHere(training.trainer, samples), parts.rule, parts.books)
