"""Makes the links of caches of a node, of files that were built for its models, or of the node's own looks.

It brings what builds and runs caches: import it where they may be used.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cache_adapt.caches.store import BuiltCaches
from learning.job_runner import JobRunner
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.released import ReleasedCaches
from operators.recognise.cached.sampled_engine import SampledEngine
from operators.recognise.cached.supply import CacheSupply
from operators.recognise.cached.validation import ValidationSet
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from pipelines.assembly.environment import Training
from pipelines.assembly.link_parts import LinkParts
from pipelines.environment import artefacts_dir
from pipelines.measure.cache_files import built_caches, validation_set
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.variants.artefacts import artefact
from serving.variants.variant import parse

log = logging.getLogger(__name__)

CHILD, NAME = "cache_adapt.caches.child", "the process that builds caches"


def source_of(parts: LinkParts, training: Training) -> CacheSource:
    """Find where the caches of a node's oracle come from; reads files, and the network's graph for their places."""
    source = cache_source(training.catalogue, parts.oracle, parts.rule.accuracy, _samples(parts, training))
    return replace(source, node=parts.spec.name, elsewhere=training.elsewhere, releases=parts.spec.releases)


def caches(parts: LinkParts, classifier: Classifier, taps: SampledEngine, source: CacheSource) -> Caches:
    """Return the link in the oracle; call this on the event loop."""
    supply = CacheSupply(taps.inner, taps, classifier, source, parts.books)
    return ReleasedCaches(classifier, supply) if source.releases else Caches(classifier, supply)


def caches_in(variant: VariantShortcut, parts: LinkParts, training: Training, classifier: Classifier) -> list[Shortcut]:
    """Return the link in front of a variant of the oracle; none where the caches built for it cannot be used."""
    source = variant_source(training.catalogue, variant.model, parts.rule.accuracy, _samples(parts, training))
    if source is None:
        return []
    return [Caches(classifier, CacheSupply(parts.engine, None, classifier, source, parts.books), variant.key)]


def _samples(parts: LinkParts, training: Training) -> Path:
    return training.samples / f"{parts.spec.name}.caches"


def cache_source(known: Catalogue, oracle: str, agreement: float, samples: Path) -> CacheSource:
    """For the oracle of a node: what was built for it, else the node's own looks."""
    entry = known.find(parse(oracle).model)
    return _source(_usable(entry, oracle, agreement), entry, samples, agreement)


def variant_source(known: Catalogue, model: str, agreement: float, samples: Path) -> CacheSource | None:
    """For a variant that a node lists; None where no caches were built for it that can be used."""
    entry = known.find(parse(model).model)
    built = _usable(entry, model, agreement)
    if built is None:
        return None
    file = artefact(entry, parse(model), artefacts_dir())
    source = _source(built, entry, samples, agreement)
    return replace(source, variant=model, validation=None, weights_bytes=file.stat().st_size)


def _source(built: BuiltCaches | None, entry: Entry, samples: Path, agreement: float) -> CacheSource:
    runner, known = partial(JobRunner, CHILD, NAME), usable_validation(entry)
    places = partial(_places, entry, None if built is None else built.tensors, known)
    return CacheSource(built, places, runner, samples, agreement, known, entry.path.stat().st_size)


def _usable(entry: Entry, model: str, agreement: float) -> BuiltCaches | None:
    """Built caches; those that cannot be used, or were built for a lower agreement, are logged and not used."""
    try:
        built = built_caches(entry, parse(model))
    except ModelError as error:
        log.warning("%s; they are not used", error)
        return None
    if built is not None and built.card.agreement < agreement:
        log.warning("caches of %s were built for %g, this query asks %g", model, built.card.agreement, agreement)
        return None
    return built


def usable_validation(entry: Entry) -> ValidationSet | None:
    """The validation set of a model; a damaged one is logged and not used."""
    try:
        return validation_set(entry)
    except ModelError as error:
        log.warning("%s; it is not used", error)
        return None


def _places(entry: Entry, built: Sequence[str] | None, known: ValidationSet | None) -> Sequence[CutPlace]:
    """The places of built caches, else those of the validation set, else where caches are tried."""
    # Imported where a network is cut: what reads graphs takes long to import.
    from pipelines.measure.cache_places import cut_places, cuts_at

    if built is not None:
        return cuts_at(entry, built)
    return cut_places(entry) if known is None else known.places
