"""Where the caches of a recognise node come from: files that were built for its models, or the node's own looks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cache_adapt.caches.store import BuiltCaches
from learning.job_runner import JobRunner
from operators.recognise.cached.building import CutPlan
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.validation import ValidationSet
from pipelines.measure.cache_files import built_caches, validation_set
from pipelines.settings import cache_dir
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.variants.artefacts import artefact, user_cache
from serving.variants.variant import parse

log = logging.getLogger(__name__)

CHILD, NAME = "cache_adapt.caches.child", "the process that builds caches"


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
    file = artefact(entry, parse(model), cache_dir() or user_cache())
    source = _source(built, entry, samples, agreement)
    return replace(source, variant=model, validation=None, weights_bytes=file.stat().st_size)


def _source(built: BuiltCaches | None, entry: Entry, samples: Path, agreement: float) -> CacheSource:
    runner, known = partial(JobRunner, CHILD, NAME), usable_validation(entry)
    plan = partial(_plan, entry, None if built is None else built.tensors, known)
    return CacheSource(built, plan, runner, samples, agreement, known, entry.path.stat().st_size)


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


def _plan(entry: Entry, built: Sequence[str] | None, known: ValidationSet | None) -> Sequence[CutPlan]:
    """The places of built caches, else those of the validation set, else where caches are tried."""
    # Imported where a network is cut: what reads graphs takes long to import.
    from pipelines.measure.cache_places import cut_plan, cuts_at

    if built is not None:
        return cuts_at(entry, built)
    return cut_plan(entry) if known is None else known.plan
