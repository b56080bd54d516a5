"""Builds the chain of shortcuts of a recognise node."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.recognise.account.books import Books
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.objects.objects import Objects
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import Variant
from operators.recognise.terms import Listeners, Terms
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.query.nodes import RecogniseNode, caches_in_oracle
from serving.variants.variant import parse

if TYPE_CHECKING:
    from operators.recognise.cached.caches import Caches
    from pipelines.assembly.head_training import HeadTraining


@dataclass(frozen=True)
class Chains:
    """Makes the operators of all nodes that answer for tracks or have shortcuts."""

    shortcuts: Shortcuts
    """The registry of the operators."""
    rule: Rule
    """The rule of the audits."""
    training: HeadTraining | None = None
    """The training of heads, for nodes that specialise."""
    observer: Observer = UNOBSERVED
    purse: Purse = field(default_factory=lambda: Purse(time.process_time))
    """What finding out what can be saved may cost, of all nodes together."""

    def operator(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser) -> Operator:
        """The recogniser itself where every look is an answer and the node has no shortcut."""
        books = Books(recogniser.roles.oracle, UnitCosts(engine), self.purse)
        links = self._links(spec, engine, recogniser, books)
        objects = Objects(recogniser) if spec.answer == "track" else None
        if not links and objects is None:
            return recogniser
        chain = Chain(spec.name, links, Oracle(recogniser), Terms(self.rule, self._listeners(), books), objects)
        self.shortcuts.add(chain)
        return chain

    def _links(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, books: Books) -> list[Shortcut]:
        """Return the links in the order in which they are asked; a new kind is one more line."""
        has_caches = caches_in_oracle(spec, recogniser.roles.oracle)
        caches = self._caches(spec, engine, recogniser, books) if has_caches else None
        heads = self._heads(spec, engine, recogniser, books, caches) if spec.specialize else None
        links: list[Shortcut | None] = [heads, caches]
        for model in recogniser.roles.listed_shortcuts:
            variant = Variant(recogniser, model, books.costs)
            inside = spec.caches is True  # only the oracle's answers are released
            links += [self._caches_in(variant, spec, engine, recogniser, books) if inside else None, variant]
        return [link for link in links if link is not None]

    def _heads(
        self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, books: Books, caches: Caches | None
    ) -> Shortcut:
        """The link of heads, which sit in the oracle together with the caches where both do."""
        from operators.recognise.specialised.heads import Heads  # brings WEG

        assert self.training is not None
        exits = caches.exits if caches else lambda: None
        supply = self.training.supply(spec, engine, recogniser, self.rule, books, exits)
        return Heads(spec.name, recogniser, supply, self._listeners(), spec.answer == "track")

    def _caches(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, books: Books) -> Caches:
        from operators.recognise.cached.caches import Caches
        from operators.recognise.cached.released import ReleasedCaches
        from operators.recognise.cached.sampled_engine import SampledEngine
        from operators.recognise.cached.supply import CacheSupply
        from pipelines.assembly.cache_source import cache_source

        assert self.training is not None
        assert isinstance(engine, SampledEngine)
        assert isinstance(recogniser, Classifier)
        oracle = recogniser.roles.oracle
        samples = self.training.samples / f"{spec.name}.caches"
        source = cache_source(self.training.catalogue, oracle, self.rule.accuracy, samples)
        source = replace(source, node=spec.name, elsewhere=self.training.elsewhere, releases=spec.releases)
        supply = CacheSupply(engine.inner, engine, recogniser, source, books)
        return ReleasedCaches(recogniser, supply) if spec.releases else Caches(recogniser, supply)

    def _caches_in(
        self, variant: Variant, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, books: Books
    ) -> Shortcut | None:
        """The link in front of a variant of the oracle; None where no caches were built for it."""
        from operators.recognise.cached.caches import Caches
        from operators.recognise.cached.supply import CacheSupply
        from pipelines.assembly.cache_source import variant_source

        assert self.training is not None
        assert isinstance(recogniser, Classifier)
        if parse(variant.model).model != parse(recogniser.roles.oracle).model:
            return None
        samples = self.training.samples / f"{spec.name}.caches"
        source = variant_source(self.training.catalogue, variant.model, self.rule.accuracy, samples)
        if source is None:
            return None
        return Caches(recogniser, CacheSupply(engine, None, recogniser, source, books), variant.key)

    def _listeners(self) -> Listeners:
        return Listeners(self.changed, self.observer)

    def changed(self, stream: str) -> None:
        """Note that a phase has changed on a stream."""
        self.shortcuts.news.notify()
