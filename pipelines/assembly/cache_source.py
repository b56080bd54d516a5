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
from pipelines.measure.cache_files import built_caches
from pipelines.settings import cache_dir
from serving.catalogue.graph_file import read_weights
from serving.catalogue.lookup import Catalogue, Entry, verify
from serving.errors import ModelError
from serving.variants.artefacts import artefact, user_cache
from serving.variants.variant import parse

log = logging.getLogger(__name__)

CHILD, NAME = "cache_adapt.caches.child", "the process that builds caches"
PLACES = (0.3, 0.5, 0.7)
"""Where caches are tried in an oracle that none were built for, as shares of its work."""


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
    return replace(source, variant=model, weights_bytes=file.stat().st_size)


def _source(built: BuiltCaches | None, entry: Entry, samples: Path, agreement: float) -> CacheSource:
    runner = partial(JobRunner, CHILD, NAME)
    return CacheSource(built, partial(cut_plan, entry), runner, samples, agreement, entry.path.stat().st_size)


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


def cut_plan(entry: Entry, shares: Sequence[float] = PLACES) -> list[CutPlan]:
    """The cut points nearest to these shares of the work, each once; ModelError where the graph cannot be read."""
    from serving.graphs.segments import cut_points
    from serving.graphs.shapes import with_item_size
    from serving.graphs.taps import tap_grid

    verify(entry)
    network = with_item_size(read_weights(entry.path, entry.card), entry.card.input.item_shape)
    points = [(point, grid) for point in cut_points(network) if (grid := tap_grid(point)) is not None]
    chosen = {
        min(range(len(points)), key=lambda index: abs(points[index][0].share - share)) for share in shares if points
    }
    return [CutPlan(points[index][0].tensor, points[index][1], points[index][0].share) for index in sorted(chosen)]
