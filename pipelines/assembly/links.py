"""The links of a recognise node's chain. Links that learn are made once they may be used, and that can be paid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from operators.recognise.account.books import Books
from operators.recognise.account.outlook import too_fast
from operators.recognise.cached.sampled_engine import SampledEngine
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.postponed import Making, Postponed
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from pipelines.assembly.environment import Training
from pipelines.assembly.link_parts import LinkParts
from pipelines.measure.cache_files import caches_file
from pipelines.query.nodes import specializes, uses_caches
from serving.engines.exits import Exits
from serving.variants.variant import parse

HEADS_S, CACHES_S = 0.04, 0.25
"""Processor seconds of loading what makes heads, and of loading what makes caches and finding places for them."""
COMPACT_S, AGAIN_S = 0.1, 0.2
"""The least cost of the next step: opening a compact network for heads; the oracle once more, with cuts, for caches."""


def links(parts: LinkParts) -> list[Shortcut]:
    """Return the links in the order in which they are asked; a new kind is one more line."""
    spec, found, training = parts.spec, list[Shortcut](), parts.training
    if training is not None and specializes(spec):
        load = partial(_heads, parts, training, partial(_exits, found))
        _add(found, parts, Making("specialised", True, "heads", load, HEADS_S, COMPACT_S, "training"))
    if training is not None and parts.taps is not None and isinstance(parts.recogniser, Classifier):
        load = partial(_caches, parts, training, parts.recogniser, parts.taps)
        why_not = partial(_why_no_caches, parts.books)
        making = Making("cached", False, "learned caches", load, CACHES_S, AGAIN_S, "samples", why_not)
        # Those that are there may be used at once.
        _add(found, parts, making, at_once=spec.releases or _has_built(parts.oracle, training))
    for model in parts.recogniser.roles.listed_shortcuts:
        variant = VariantShortcut(parts.recogniser, model, parts.books.costs)
        found += [*_caches_in(variant, parts), variant]
    return found


def _add(found: list[Shortcut], parts: LinkParts, making: Making, at_once: bool = False) -> None:
    if at_once or making.can_be_paid(parts.books.purse):
        found.append(making.load()())
    else:
        where = f"node {parts.spec.name}"
        found.append(Postponed(where, making, parts.books, partial(found.__setitem__, len(found))))


def _exits(found: Sequence[Shortcut]) -> Exits | None:
    """Where caches answer in the oracle; None where it is not cut: heads sit in it together with them."""
    return next((exits for link in found if (exits := link.exits) is not None), None)


def _has_built(model: str, training: Training) -> bool:
    return caches_file(training.catalogue.find(parse(model).model), parse(model)).is_file()


def _why_no_caches(books: Books) -> str | None:
    return too_fast(books.oracle_s)


# What follows brings what trains, builds and runs heads and caches: it is imported where they may be used.


def _heads(parts: LinkParts, training: Training, exits: Callable[[], Exits | None]) -> Callable[[], Shortcut]:
    from pipelines.assembly.heads import heads

    return partial(heads, parts, training, exits)


def _caches(
    parts: LinkParts, training: Training, classifier: Classifier, taps: SampledEngine
) -> Callable[[], Shortcut]:
    from pipelines.assembly.caches import caches, source_of

    return partial(caches, parts, classifier, taps, source_of(parts, training))


def _caches_in(variant: VariantShortcut, parts: LinkParts) -> list[Shortcut]:
    """Caches in a variant of the oracle, which stand before it; of others, only the oracle's answers are released."""
    spec, training, classifier = parts.spec, parts.training, parts.recogniser
    if training is None or not isinstance(classifier, Classifier) or not uses_caches(spec) or spec.releases:
        return []
    if parse(variant.model).model != parse(parts.oracle).model or not _has_built(variant.model, training):
        return []
    from pipelines.assembly.caches import caches_in

    return caches_in(variant, parts, training, classifier)
