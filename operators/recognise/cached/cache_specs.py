"""The targets that a worker wants from an adaptation worker, as they are written into wishes.

Nothing in it depends on the machine: places are told by their share of the network's work, so workers whose machines
take other times want the same caches. Each leaves out those that do not pay where it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from cache_adapt.caches.store import MOST_CACHES, BuiltCaches, Name
from operators.recognise.cached.building import CutPlace
from operators.wire.adaptation import MOST_DIMS

CACHES: Final = "caches"
"""The kind of artefact."""
Side = Annotated[int, Meta(ge=1, le=MOST_DIMS)]


class CutSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place for a cache."""

    tensor: Name
    grid: tuple[Side, Side, Side]
    share: Annotated[float, Meta(ge=0, le=1)]
    """Share of the network's work that is done up to here."""

    @property
    def values(self) -> int:
        """Number of activations."""
        return self.grid[0] * self.grid[1] * self.grid[2]


class CachesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caches that are wanted, at some of these places."""

    cuts: Annotated[tuple[CutSpec, ...], Meta(min_length=1, max_length=MOST_CACHES)]
    """In dataflow order; a sample has the activations of all, one after the other."""
    agreement: Annotated[float, Meta(ge=0, le=1)]
    """Share of the caches' answers that must be the network's."""

    def __post_init__(self) -> None:
        if len({cut.tensor for cut in self.cuts}) < len(self.cuts):
            raise ValueError("two places are the same")
        if any(later.share < cut.share for cut, later in pairwise(self.cuts)):
            raise ValueError("places are not in the order of the network")
        if self.dims > MOST_DIMS:
            raise ValueError(f"{self.dims} activations are more than {MOST_DIMS}")

    @property
    def dims(self) -> int:
        """Number of activations at all places together."""
        return sum(cut.values for cut in self.cuts)

    @property
    def places(self) -> list[CutPlace]:
        return [CutPlace(cut.tensor, cut.grid, cut.share) for cut in self.cuts]

    @classmethod
    def of(cls, places: Sequence[CutPlace], agreement: float) -> CachesSpec:
        """For these places; ValueError where there are too many, or too many activations."""
        return cls(tuple(CutSpec(cut.tensor, cut.grid, round(cut.share, 6)) for cut in places), agreement)

    def why_unfit(self, built: BuiltCaches, identity: str, classes: int) -> str | None:
        """Why caches are not those that are wanted for a network; None where they are."""
        card, places = built.card, {cut.tensor: place for place, cut in enumerate(self.cuts)}
        if card.model_identity != identity:
            return "for other weights, or another input"
        if card.classes != classes:
            return f"for {card.classes} classes and not {classes}"
        if card.of != "answers" or card.agreement < self.agreement:
            return f"for an agreement of {card.agreement:g} of all {card.of}"
        found = [places.get(cache.tensor, -1) for cache in card.caches]
        if found[0] < 0 or any(later <= earlier for earlier, later in pairwise(found)):
            return "for other places"
        grids = zip(found, card.caches, strict=True)
        return None if all(self.cuts[place].grid == cache.grid for place, cache in grids) else "for other activations"
