"""The heads and caches that nodes of a query will use, and the audits it takes, as far as known before anything runs.

What brings numpy is imported where a node says that it wants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.query.nodes import RecogniseNode, caches_in_oracle, uses_caches
from pipelines.query.query_file import DEFAULT_ACCURACY, Query
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.variants.variant import generate, parse

if TYPE_CHECKING:
    from operators.audits.roles import Roles
    from specialization.templates.stored import StoredTemplate


def _recognisers(nodes: Sequence[RecogniseNode], known: Catalogue) -> Iterator[tuple[RecogniseNode, Roles]]:
    """The nodes with their oracles and shortcuts."""
    from operators.audits.roles import Roles

    for node in nodes:
        yield node, Roles.of(node.model, lambda model: known.find(parse(model).model).card)


def _nodes(query: Query) -> list[RecogniseNode]:
    return [node for node in query.nodes if isinstance(node, RecogniseNode)]


def demanding(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node with shortcuts: what it takes to keep an ``accuracy`` above the default, in a sentence."""
    if not DEFAULT_ACCURACY < query.accuracy < 1:
        return {}
    nodes = _recognisers(_nodes(query), known)
    return {node.name: _demand(query.accuracy) for node, roles in nodes if node.specialize is True or roles.shortcuts}


def _demand(accuracy: float) -> str:
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


def hopeless(query: Query, known: Catalogue) -> Mapping[str, str]:
    """Why no head will answer, in a sentence, by node that says ``specialize``; nodes where one may are left out."""
    nodes = [node for node in _nodes(query) if node.specialize is True]
    if not nodes:
        return {}
    from pipelines.environment import template_dirs
    from specialization.templates.stored import templates_for

    found: dict[str, str] = {}
    for node, roles in _recognisers(nodes, known):
        card = known.find(parse(roles.oracle).model).card
        reason = why_not([each for each in templates_for(template_dirs(), card) if each.has_store], query.accuracy)
        if reason:
            found[node.name] = reason
    return found


def why_not(templates: Sequence[StoredTemplate], accuracy: float) -> str | None:
    """Why no head of these templates will be used; without templates heads are measured on the stream itself."""
    from specialization.templates import prospects

    if accuracy >= 1:
        return prospects.at_accuracy(accuracy, prospects.NO_ROOM)
    return prospects.why_not({each.name: each.prospect for each in templates}, accuracy)


def caches_used(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node that says ``caches``: what will be used, in a sentence."""
    found: dict[str, str] = {}
    for node, roles in _recognisers([node for node in _nodes(query) if uses_caches(node)], known):
        own = caches_in_oracle(node, roles.oracle)
        said = [_in_oracle(roles.oracle, query.accuracy, known)] if own else []
        variants = [each for each in roles.listed_shortcuts if _is_of(each, roles.oracle)]
        if node.releases:
            said += [_released(roles.oracle), *(f"{each} runs without caches" for each in variants)]
        else:
            said += [_in_variant(each, query.accuracy, known) for each in variants]
            said += _unlisted(node, roles.oracle, known)
        found[node.name] = "; ".join(said)
    return found


def _released(oracle: str) -> str:
    return f"their answers go out while {oracle} runs on to its end, so that no processor time is saved"


def _is_of(model: str, oracle: str) -> bool:
    return parse(model).model == parse(oracle).model


def _in_oracle(oracle: str, accuracy: float, known: Catalogue) -> str:
    pictures = ", from the pictures of the last build too" if _is_kept(oracle, known) else ""
    own = f"caches are built from the node's own looks, or by `sluice adapt` for workers with --adapt{pictures}"
    used, said = _built(oracle, accuracy, known)
    if said is None:
        return f"no caches are built for {oracle}: {own}, or by: {_remedy(oracle, accuracy)}"
    return said if used else f"{said}: {own}"


def _is_kept(oracle: str, known: Catalogue) -> bool:
    """Whether there is a validation set that can be used."""
    from pipelines.measure.cache_files import validation_set

    try:
        return validation_set(known.find(parse(oracle).model)) is not None
    except ModelError:
        return False


def _in_variant(variant: str, accuracy: float, known: Catalogue) -> str:
    used, said = _built(variant, accuracy, known)
    if said is None:
        return f"no caches are built for {variant}; where they pay, this builds them: {_remedy(variant, accuracy)}"
    return f"once {variant} has proven itself on a stream, {said}" if used else f"{said}: it runs without"


def _built(model: str, accuracy: float, known: Catalogue) -> tuple[bool, str | None]:
    """Whether there are built caches that will be used, and what there is to say of them; None: there are none."""
    from pipelines.measure.cache_files import built_caches

    try:
        built = built_caches(known.find(parse(model).model), parse(model))
    except ModelError as error:
        return False, str(error)
    if built is None:
        return False, None
    card = built.card
    if card.agreement < accuracy:
        return False, f"caches of {model} were built for {card.agreement:g}, below the query's accuracy of {accuracy:g}"
    places = f"{len(card.caches)} place{'s' if len(card.caches) > 1 else ''}"
    return True, (
        f"caches of {model} will be used at {places}, built for {card.agreement:g} from {card.samples} pictures; "
        f"{card.speedup:.2f} times as fast where they were built"
    )


def _unlisted(node: RecogniseNode, oracle: str, known: Catalogue) -> list[str]:
    """Variants that caches were built for, and that the node does not list."""
    from pipelines.measure.cache_files import caches_file

    entry = known.find(parse(oracle).model)
    listed = {parse(model).profiled for model in node.model}
    others = [each for each in generate(entry.card.name, ("onnxruntime",))[1:] if each not in listed]
    return [
        f"caches are built for {each.id}: list it as a model to have them used"
        for each in others
        if caches_file(entry, each).is_file()
    ]


def _remedy(model: str, accuracy: float) -> str:
    return f"sluice caches build {parse(model).model} --target {accuracy:g}"
