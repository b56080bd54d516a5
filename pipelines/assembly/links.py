"""The chain of a recognise node. Links that learn are made once they may be used, and that can be paid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cache_adapt.audit.state import Rule
from operators.inference import Inference
from operators.recognise.account.books import Books
from operators.recognise.account.outlook import too_fast
from operators.recognise.chain import Chain
from operators.recognise.objects.objects import Objects
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.postponed import Making, Postponed
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.terms import ChainTerms, Listeners
from pipelines.assembly.head_training import HeadTraining
from pipelines.measure.cache_files import caches_file
from pipelines.query.nodes import RecogniseNode, caches_in_oracle
from serving.engines.exits import Exits
from serving.variants.variant import parse

if TYPE_CHECKING:
    from operators.recognise.cached.caches import Caches

HEADS_S, CACHES_S = 0.04, 0.25
"""Processor seconds of loading what makes heads, and of loading what makes caches and finding places for them."""
COMPACT_S, AGAIN_S = 0.1, 0.2
"""What comes next takes, at least: opening a compact network for heads; the oracle once more, with cuts, for caches."""


@dataclass
class LinkParts:
    """What the links of one node are made of."""

    spec: RecogniseNode
    engine: Inference
    recogniser: Recogniser
    rule: Rule
    books: Books
    listeners: Listeners
    training: HeadTraining | None
    """For nodes that learn."""
    caches: Caches | None = None
    """The link of caches in the oracle, once it is made: heads sit in the oracle together with them."""

    @property
    def oracle(self) -> str:
        """The name of the oracle."""
        return self.recogniser.roles.oracle

    @property
    def learning(self) -> HeadTraining:
        """What nodes share that learn."""
        assert self.training is not None
        return self.training

    def exits(self) -> Exits | None:
        """Where caches answer in the oracle; None where it is not cut."""
        return None if self.caches is None else self.caches.exits()

    def has_built(self, model: str) -> bool:
        """Whether caches were built for a model."""
        return caches_file(self.learning.catalogue.find(parse(model).model), parse(model)).is_file()


def chain_of(parts: LinkParts) -> Chain | None:
    """Return the chain of a node; None where it has no shortcut, and every look is an answer."""
    found, spec = links(parts), parts.spec
    objects = Objects(parts.recogniser) if spec.answer == "track" else None
    if not found and objects is None:
        return None
    terms = ChainTerms(parts.rule, parts.listeners, parts.books)
    return Chain(spec.name, found, Oracle(parts.recogniser), terms, objects)


def links(parts: LinkParts) -> list[Shortcut]:
    """Return the links in the order in which they are asked; a new kind is one more line."""
    spec, found = parts.spec, list[Shortcut]()
    if spec.specialize:
        _add(found, parts, Making("specialised", True, "heads", partial(_heads, parts), HEADS_S, COMPACT_S, "training"))
    if caches_in_oracle(spec, parts.oracle):
        why_not = partial(_why_no_caches, parts.books)
        making = Making(
            "cached", False, "learned caches", partial(_caches, parts), CACHES_S, AGAIN_S, "samples", why_not
        )
        # Those that are there may be used at once.
        _add(found, parts, making, at_once=spec.releases or parts.has_built(parts.oracle))
    for model in parts.recogniser.roles.listed_shortcuts:
        variant = VariantShortcut(parts.recogniser, model, parts.books.costs)
        if spec.caches is True and parse(model).model == parse(parts.oracle).model and parts.has_built(model):
            found += _caches_in(parts, variant)  # of others, only the oracle's answers are released
        found.append(variant)
    return found


def _add(found: list[Shortcut], parts: LinkParts, making: Making, at_once: bool = False) -> None:
    if at_once or making.can_be_paid(parts.books.purse):
        found.append(making.load()())
    else:
        where = f"node {parts.spec.name}"
        found.append(Postponed(where, making, parts.books, partial(found.__setitem__, len(found))))


def _why_no_caches(books: Books) -> str | None:
    return too_fast(books.oracle_s)


def _heads(parts: LinkParts) -> Callable[[], Shortcut]:
    from pipelines.assembly.head_links import heads

    return partial(heads, parts)


def _caches(parts: LinkParts) -> Callable[[], Shortcut]:
    from pipelines.assembly.cache_links import caches, source_of

    return partial(caches, parts, source_of(parts))


def _caches_in(parts: LinkParts, variant: VariantShortcut) -> list[Shortcut]:
    from pipelines.assembly.cache_links import caches_in

    return caches_in(parts, variant)
