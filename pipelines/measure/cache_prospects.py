"""Which caches the nodes of a query will use, as far as that is known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.query.nodes import RecogniseNode, caches_in_oracle
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.variants.variant import generate, parse


def caches_used(query: Query, known: Catalogue) -> Mapping[str, str]:
    """By node that says ``caches``: what will be used, in a sentence."""
    nodes = [node for node in query.nodes if isinstance(node, RecogniseNode) and node.caches]
    if not nodes:
        return {}
    # They bring numpy, which a query without caches does without.
    from operators.audits.roles import Roles

    found: dict[str, str] = {}
    for node in nodes:
        roles = Roles.of(node.model, lambda model: known.find(parse(model).model).card)
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
