"""Where exits are tried in a network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from cache_adapt.learned.specs import ExitCut
from serving.catalogue.lookup import Entry, read_weights, verify
from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import tap_grid

PLACES = (0.32, 0.65)
"""As shares of the network's work: more than two cuts cost more than a third exit answers."""
LENT_PLACES = (0.78, 1.0)
"""The same in front of an oracle on another machine: what a lender's layers cost is little beside a look there."""


def exit_places(entry: Entry, shares: Sequence[float] = PLACES) -> list[ExitCut]:
    """The cut points nearest to these shares of a model's work; ModelError where there is none that can be tapped."""
    fit = [point for point in _points(entry) if tap_grid(point) is not None]
    chosen = {min(range(len(fit)), key=lambda index: abs(fit[index].share - share)) for share in shares if fit}
    if not chosen:
        raise ModelError(f"{entry.card.name} has no layer at which an exit could read")
    return _cuts(fit[index] for index in sorted(chosen))


def cuts_at(entry: Entry, tensors: Collection[str]) -> list[ExitCut]:
    """Those of these cut tensors that a model has, in its order; ModelError where its graph cannot be read."""
    return _cuts(point for point in _points(entry) if point.tensor in tensors)


def _cuts(points: Iterable[CutPoint]) -> list[ExitCut]:
    grids = ((point, tap_grid(point)) for point in points)
    return [ExitCut(point.tensor, grid, round(point.share, 6)) for point, grid in grids if grid is not None]


def _points(entry: Entry) -> list[CutPoint]:
    verify(entry)
    return cut_points(read_weights(entry.path, entry.card))
