"""The exits that nodes of a query will use, and the audits it takes, as far as known before anything runs.

What brings numpy is imported where a node says that it wants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from pipelines.query.models.remote_models import roles_of
from pipelines.query.nodes import RecogniseNode, specializes, uses_caches
from pipelines.query.query_file import DEFAULT_ACCURACY, Query
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.variants.variant import parse

if TYPE_CHECKING:
    from operators.audits.roles import Roles


def demanding(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node with shortcuts: what it takes to keep an ``accuracy`` above the default, in a sentence."""
    if not DEFAULT_ACCURACY < query.accuracy < 1:
        return {}
    nodes = _recognisers(query, known)
    return {node.name: _demand(query.accuracy) for node, roles in nodes if node.specialize is True or roles.shortcuts}


def hopeless(query: Query) -> Mapping[str, str]:
    """Why no exits will answer, in a sentence, by node that asks for them; nodes where some may are left out."""
    asking = [node.name for node in _nodes(query) if node.specialize is True or node.caches is True]
    if query.accuracy >= 1:
        return dict.fromkeys(asking, "at accuracy 1 exits may not disagree even once: none will answer")
    if not query.learning.budget:
        return dict.fromkeys(asking, "learning has a budget of 0: no exits are made, opened or audited")
    return {}


def exits_used(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node with learned exits: what will be used, in a sentence."""
    found = {node.name: _learned(node, roles.oracle, query, known) for node, roles in _recognisers(query, known)}
    return {name: said for name, said in found.items() if said}


def _recognisers(query: Query, known: Catalogue) -> Iterator[tuple[RecogniseNode, Roles]]:
    """The nodes with their oracles and shortcuts."""
    for node in _nodes(query):
        with suppress(ModelError):  # a backend alone has a card
            yield node, roles_of(node, known)


def _nodes(query: Query) -> list[RecogniseNode]:
    return [node for node in query.nodes if isinstance(node, RecogniseNode)]


def _demand(accuracy: float) -> str:
    from cache_adapt.audit.verdict import least_audits

    least, usual = least_audits(accuracy), least_audits(DEFAULT_ACCURACY)
    return (
        f"at accuracy {accuracy:g} a shortcut answers after {least} audited objects at the earliest; "
        f"{DEFAULT_ACCURACY:g}, the default, takes {usual}"
    )


def _learned(node: RecogniseNode, oracle: str, query: Query, known: Catalogue) -> str | None:
    if not uses_caches(node) or not query.learning.budget or parse(oracle).backend is not None:
        return None
    from pipelines.measure.exit_files import learned_exits

    try:
        learned = learned_exits(known.find(parse(oracle).model), query.name, node.name)
    except ModelError as error:
        return f"{error}; they are not used"
    if learned is not None:
        card = learned.card
        exits = "1 exit" if len(card.exits) == 1 else f"{len(card.exits)} exits"
        return f"{exits} of {oracle}, learnt from {card.samples} looks, may answer once they have proven themselves"
    if node.caches == "auto":
        return None
    own = " and of each stream" if specializes(node) else ""
    return f"no exits are learnt for {oracle}: they are made from looks of all streams{own}, or by: sluice learn QUERY"
