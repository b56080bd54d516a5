"""Where caches are tried in a network that none were built for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from operators.recognise.cached.building import CutPlace

from serving.catalogue.lookup import Entry, read_weights, verify
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.shapes import with_item_size
from serving.graphs.taps import tap_grid

PLACES = (0.3, 0.5, 0.7)
"""As shares of the network's work."""


def nearest(points: Sequence[CutPoint]) -> list[CutPoint]:
    """The cut points nearest to ``PLACES`` where activations can be tapped, each once."""
    fit = [point for point in points if tap_grid(point) is not None]
    chosen = {min(range(len(fit)), key=lambda index: abs(fit[index].share - share)) for share in PLACES if fit}
    return [fit[index] for index in sorted(chosen)]


def places_of(points: Sequence[CutPoint]) -> list[CutPlace]:
    """The inputs of caches at these cut points."""
    grids = [(point, tap_grid(point)) for point in points]
    return [CutPlace(point.tensor, grid, point.share) for point, grid in grids if grid is not None]


def cut_places(entry: Entry) -> list[CutPlace]:
    """The places in a model; ModelError where its graph cannot be read."""
    return places_of(nearest(_points(entry)))


def cuts_at(entry: Entry, tensors: Collection[str]) -> list[CutPlace]:
    """Those of these cut tensors that a model has, in its order; ModelError where its graph cannot be read."""
    return places_of([point for point in _points(entry) if point.tensor in tensors])


def _points(entry: Entry) -> list[CutPoint]:
    verify(entry)
    return cut_points(with_item_size(read_weights(entry.path, entry.card), entry.card.input.item_shape))
