"""What there is to adapt in a query: the templates of its nodes that specialise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from operators.audits.roles import Roles
from operators.recognise.specialised.head_kinds import Known, Templates
from operators.recognise.specialised.labels import Labels
from pipelines.assembly.head_training import node_templates
from pipelines.query.dag import Dag
from pipelines.query.nodes import NOTHING_LEARNS, learns
from pipelines.query.query_file import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput
from serving.variants.variant import parse
from specialization.templates.stored import StoredTemplate, feature_entry


def templates_of(dag: Dag, known: Catalogue, directories: Sequence[Path]) -> Templates:
    """The templates of all nodes; BadInput where no node learns from its streams."""
    found = {
        (node.spec.name, template.name): Known(template, _sha256(template), _labels(node.spec, known))
        for node in dag.nodes
        if isinstance(node.spec, RecogniseNode) and learns(node.spec)
        for template in node_templates(_oracle(node.spec, known), known, directories)
    }
    if not found:
        raise BadInput(NOTHING_LEARNS)
    return found


def _sha256(template: StoredTemplate) -> str | None:
    return feature_entry(template.directory).card.sha256 if template.has_store else None


def _labels(spec: RecogniseNode, known: Catalogue) -> str | None:
    if spec.gallery is not None:
        return None
    return Labels(known.find(parse(_oracle(spec, known)).model).card.classes).digest


def _oracle(spec: RecogniseNode, known: Catalogue) -> str:
    return Roles.of(spec.model, lambda model: known.find(parse(model).model).card).oracle
