"""The demands of a query's ``accuracy`` on shortcuts, as far as they are known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.query.nodes import RecogniseNode
from pipelines.query.query_file import DEFAULT_ACCURACY, Query
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import parse


def demanding(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node with shortcuts: what it takes to keep an ``accuracy`` above the default, in a sentence."""
    if not DEFAULT_ACCURACY < query.accuracy < 1:
        return {}
    # They bring numpy and the statistics, which other queries do without.
    from operators.audits.roles import Roles

    found: dict[str, str] = {}
    for node in query.nodes:
        if isinstance(node, RecogniseNode):
            roles = Roles.of(node.model, lambda model: known.find(parse(model).model).card)
            if node.specialize or roles.shortcuts:
                found[node.name] = _said(query.accuracy)
    return found


def _said(accuracy: float) -> str:
    from cache_adapt.audit.verdict import least_audits

    least, usual = least_audits(accuracy), least_audits(DEFAULT_ACCURACY)
    return (
        f"at accuracy {accuracy:g} a shortcut answers after {least} objects at the earliest, and only if the oracle, "
        f"asked again, says the same of {_again(accuracy):g} of them; {DEFAULT_ACCURACY:g}, the default, takes {usual} "
        f"and {_again(DEFAULT_ACCURACY):g}"
    )


def _again(accuracy: float) -> float:
    """How often an oracle has to agree with itself: what can be reached is 1 − 2 (1 − s), as in ``self_agreement``."""
    return (1 + accuracy) / 2
