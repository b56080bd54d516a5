"""Makes the links of caches of a node. It brings what builds and runs caches: import it where they may be used."""

from __future__ import annotations

from dataclasses import replace

from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.released import ReleasedCaches
from operators.recognise.cached.sampled_engine import SampledEngine
from operators.recognise.cached.supply import CacheSupply
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from pipelines.assembly.cache_source import cache_source, variant_source
from pipelines.assembly.links import LinkParts


def source_of(parts: LinkParts) -> CacheSource:
    """Find where the caches of a node's oracle come from; reads files, and the network's graph for their places."""
    spec, training = parts.spec, parts.learning
    source = cache_source(
        training.catalogue, parts.oracle, parts.rule.accuracy, training.samples / f"{spec.name}.caches"
    )
    return replace(source, node=spec.name, elsewhere=training.elsewhere, releases=spec.releases)


def caches(parts: LinkParts, source: CacheSource) -> Caches:
    """Return the link in the oracle; call this on the event loop."""
    engine, recogniser = parts.engine, parts.recogniser
    assert isinstance(engine, SampledEngine)
    assert isinstance(recogniser, Classifier)
    supply = CacheSupply(engine.inner, engine, recogniser, source, parts.books)
    parts.caches = ReleasedCaches(recogniser, supply) if source.releases else Caches(recogniser, supply)
    return parts.caches


def caches_in(parts: LinkParts, variant: VariantShortcut) -> list[Shortcut]:
    """Return the link in front of a variant of the oracle; none where the caches built for it cannot be used."""
    training, recogniser = parts.learning, parts.recogniser
    assert isinstance(recogniser, Classifier)
    samples = training.samples / f"{parts.spec.name}.caches"
    source = variant_source(training.catalogue, variant.model, parts.rule.accuracy, samples)
    if source is None:
        return []
    return [Caches(recogniser, CacheSupply(parts.engine, None, recogniser, source, parts.books), variant.key)]
