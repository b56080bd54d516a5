"""The models of a query that backends serve: ``vehicle-type on gpu``, ``vehicle-type on auto``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pipelines.query.needs import AUTO, needs_of
from pipelines.query.nodes import MOTION, DetectNode, NodeSpec, RecogniseNode
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue
from serving.common.explain import Problem, choices
from serving.errors import ModelError
from serving.remote.endpoint.terms import is_endpoint
from serving.variants.variant import ANYWHERE, parse, placed

if TYPE_CHECKING:
    from operators.audits.roles import Roles


def backend_problems(nodes: Mapping[int, NodeSpec], names: Mapping[str, object]) -> Iterator[Problem]:
    """Models on backends that the query does not have, by the place of their node in the file."""
    for index, node in nodes.items():
        for place, model in enumerate(node.models):
            where = ("nodes", index, "model", place) if len(node.models) > 1 else ("nodes", index, "model")
            known = isinstance(node, RecogniseNode) and model in node.endpoints
            if not known and (fault := _fault(model, names)) is not None:
                yield Problem(where, fault)


def _fault(model: str, names: Mapping[str, object]) -> str | None:
    if is_endpoint(model):
        return "an endpoint is written out: {endpoint: …, name: …, labels: […], budget: …}"
    try:
        served, backend = placed(model)
        if backend is None:
            return None
        parse(model)
    except ModelError as error:
        return str(error)
    if served in (AUTO, MOTION):
        return f"{served!r} is no model that a backend serves: name one"
    if backend == ANYWHERE:
        return None if names else "auto needs backends to choose from: the query has no key 'backends'"
    return None if backend in names else f"there is no backend {backend!r}{choices(backend, names)}"


def named_backends(nodes: Iterable[NodeSpec]) -> frozenset[str]:
    """The backends that models of the nodes are on, ``auto`` included."""
    names = (model for node in nodes for model in node.models if not is_endpoint(model))
    needs = ((model, needs_of((model,))) for model in names)
    found = (placed(model)[1] if wanted is None else wanted.backend for model, wanted in needs)
    return frozenset(each for each in found if each is not None)


def card_of(node: DetectNode | RecogniseNode, known: Catalogue, model: str) -> ModelCard:
    """A model's card, by the engine's name for it; ModelError where there is none."""
    endpoint = node.endpoints.get(model) if isinstance(node, RecogniseNode) else None
    return known.find(parse(model).model).card if endpoint is None else endpoint.terms(None).card()


def roles_of(node: RecogniseNode, known: Catalogue) -> Roles:
    """The roles of a node's models; ModelError where one is not known."""
    from operators.audits.roles import Roles  # brings numpy, which a query with a mistake does without

    return Roles.of(node.models, partial(card_of, node, known))
