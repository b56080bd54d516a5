"""The targets of adaptation in a query: the templates of nodes that specialise, the oracles of nodes with caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from operators.recognise.cached.cache_kind import CachedOracle
from operators.recognise.specialised.features import head_identity
from operators.recognise.specialised.head_kinds import KnownTemplate, Templates

from operators.audits.roles import Roles
from operators.recognise.labels import Labels
from pipelines.assembly.caches import usable_validation
from pipelines.assembly.heads import node_templates
from pipelines.query.dag import Dag
from pipelines.query.nodes import NOTHING_LEARNS, learns, makes_caches, specializes
from pipelines.query.query_file import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput
from serving.variants.variant import parse
from specialization.templates.stored import StoredTemplate, feature_entry


@dataclass(frozen=True)
class Adapted:
    """The templates and oracles of a query."""

    templates: Templates
    """Heads are made for these."""
    oracles: Mapping[str, CachedOracle]
    """Caches are made for these, by node."""


def adapted(dag: Dag, known: Catalogue, directories: Sequence[Path]) -> Adapted:
    """The targets of all nodes; BadInput where none learns from its streams."""
    nodes = [node.spec for node in dag.nodes if isinstance(node.spec, RecogniseNode) and learns(node.spec)]
    if not nodes:
        raise BadInput(NOTHING_LEARNS)
    templates = {
        (spec.name, template.name): KnownTemplate(template, _identity(spec, template, known), _labels(spec, known))
        for spec in nodes
        if specializes(spec)
        for template in node_templates(_oracle(spec, known), known, directories)
    }
    return Adapted(templates, {spec.name: _cached(spec, known) for spec in nodes if makes_caches(spec)})


def _cached(spec: RecogniseNode, known: Catalogue) -> CachedOracle:
    oracle = _oracle(spec, known)
    entry = known.find(parse(oracle).model)
    card, validation = entry.card, usable_validation(entry)
    return CachedOracle(oracle, card.identity, Labels(card.classes).digest, len(card.classes), validation)


def _identity(spec: RecogniseNode, template: StoredTemplate, known: Catalogue) -> str | None:
    if not template.has_store:
        return None
    oracle = known.find(parse(_oracle(spec, known)).model).card
    return head_identity(feature_entry(template.directory).card, oracle)


def _labels(spec: RecogniseNode, known: Catalogue) -> str | None:
    if spec.gallery is not None:
        return None
    return Labels(known.find(parse(_oracle(spec, known)).model).card.classes).digest


def _oracle(spec: RecogniseNode, known: Catalogue) -> str:
    return Roles.of(spec.model, lambda model: known.find(parse(model).model).card).oracle
