"""The cards of a node's models: the catalogue has those of this machine, the query those of endpoints."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pipelines.query.nodes import DetectNode, RecogniseNode
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import parse

if TYPE_CHECKING:
    from operators.audits.roles import Roles


def card_of(node: DetectNode | RecogniseNode, known: Catalogue, model: str) -> ModelCard:
    """A model's card, by the engine's name for it; ModelError where there is none."""
    endpoint = node.endpoints.get(model) if isinstance(node, RecogniseNode) else None
    return known.find(parse(model).model).card if endpoint is None else endpoint.terms(None).card()


def roles_of(node: RecogniseNode, known: Catalogue) -> Roles:
    """The roles of a node's models; ModelError where one is not known."""
    from operators.audits.roles import Roles  # brings numpy, which a query with a mistake does without

    return Roles.of(node.models, partial(card_of, node, known))
