"""Whether the nodes of a query can use heads, as far as that is known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.query.nodes import RecogniseNode
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import parse

if TYPE_CHECKING:
    from specialization.templates.stored import StoredTemplate

DEFAULT_ACCURACY: float = Query.model_fields["accuracy"].default


def hopeless(query: Query, known: Catalogue) -> Mapping[str, str]:
    """Why no head will answer, in a sentence, by node that says ``specialize``; nodes where one may are left out."""
    nodes = [node for node in query.nodes if isinstance(node, RecogniseNode) and node.specialize]
    if not nodes:
        return {}
    # They bring numpy, which a query without heads does without.
    from operators.audits.roles import Roles
    from pipelines.environment import template_dirs
    from specialization.templates.stored import templates_for

    found: dict[str, str] = {}
    for node in nodes:
        oracle = Roles.of(node.model, lambda model: known.find(parse(model).model).card).oracle
        card = known.find(parse(oracle).model).card
        stored = [each for each in templates_for(template_dirs(), card) if each.has_store]
        reason = why_not(stored, query.accuracy)
        if reason:
            found[node.name] = reason
    return found


def why_not(templates: Sequence[StoredTemplate], accuracy: float) -> str | None:
    """Why no head of these templates will be used; without templates heads are measured on the stream itself."""
    from specialization.templates import prospects

    if accuracy >= 1:
        return prospects.at_accuracy(accuracy, prospects.NO_ROOM)
    return prospects.why_not({each.name: each.prospect for each in templates}, accuracy)
