"""Which caches the nodes of a query will use, as far as that is known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.query.nodes import RecogniseNode
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.variants.variant import parse


def caches_used(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node that says ``caches``: what will be used, in a sentence."""
    nodes = [node for node in query.nodes if isinstance(node, RecogniseNode) and node.caches]
    if not nodes:
        return {}
    # They bring numpy, which a query without caches does without.
    from operators.audits.roles import Roles

    found: dict[str, str] = {}
    for node in nodes:
        oracle = Roles.of(node.model, lambda model: known.find(parse(model).model).card).oracle
        found[node.name] = _said(oracle, query.accuracy, known)
    return found


def _said(oracle: str, accuracy: float, known: Catalogue) -> str:
    from pipelines.measure.cache_files import built_caches

    own = "caches are built from the node's own looks, or by `sluice adapt` for workers with --adapt"
    try:
        built = built_caches(known.find(parse(oracle).model))
    except ModelError as error:
        return f"{error}; {own}"
    if built is None:
        return f"no caches are built for {oracle}: {own}, or by: sluice caches build {oracle} --target {accuracy:g}"
    card = built.card
    if card.agreement < accuracy:
        return (
            f"caches of {oracle} were built for {card.agreement:g}, below the query's accuracy of {accuracy:g}: {own}"
        )
    places = f"{len(card.caches)} place{'s' if len(card.caches) > 1 else ''}"
    return (
        f"caches of {oracle} will be used at {places}, built for {card.agreement:g} from {card.samples} pictures; "
        f"{card.speedup:.2f} times as fast where they were built"
    )
