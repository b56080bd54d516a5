"""The targets of adaptation in a query: the networks of its nodes in which exits are made."""

from __future__ import annotations

from collections.abc import Mapping

from cache_adapt.learned.kind import NodeNetwork
from pipelines.assembly.lenders import lending, lent_identity, runs_elsewhere
from pipelines.assembly.node_words import NodeWords
from pipelines.query.dag import Dag
from pipelines.query.models.model_cards import card_of, roles_of
from pipelines.query.nodes import NOTHING_LEARNS, learns
from pipelines.query.query_file import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput


def adapted(dag: Dag, known: Catalogue) -> Mapping[str, NodeNetwork]:
    """By the names of their nodes; BadInput where none learns from its streams."""
    nodes = [node.spec for node in dag.nodes if isinstance(node.spec, RecogniseNode) and learns(node.spec)]
    if not nodes:
        raise BadInput(NOTHING_LEARNS)
    return {spec.name: _network(spec, known) for spec in nodes}


def _network(spec: RecogniseNode, known: Catalogue) -> NodeNetwork:
    roles = roles_of(spec, known)
    oracle = roles.oracle
    card = card_of(spec, known, oracle)
    if spec.gallery is not None:
        return NodeNetwork(oracle, card.identity)
    words = NodeWords.of_classes(card, spec.min_confidence)
    lender = lending(roles, known) if runs_elsewhere(oracle) else None
    identity = card.identity if lender is None else lent_identity(lender.entry.card, card)
    return NodeNetwork(oracle, identity, words.digest, words.vocabulary)
