"""The exits that a worker wants made, as they are written into wishes.

Nothing in it depends on the machine: places are told by their share of the network's work, so workers whose machines
take other times want the same exits. Each asks those that pay where it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from cache_adapt.learned.artefact import MOST_EXITS, ArtefactCard, Name, Share
from cache_adapt.learned.rows import RowLayout
from cache_adapt.learned.vocabulary import Vocabulary
from serving.errors import ModelError

MOST_VALUES = 6144
"""The most numbers of one sample."""
Side = Annotated[int, Meta(ge=1, le=MOST_VALUES)]


class ExitCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place for an exit."""

    tensor: Name
    grid: tuple[Side, Side, Side]
    """Channels, rows, columns of the tap there."""
    share: Share
    """Share of the network's work that is done up to here."""

    @property
    def values(self) -> int:
        """Number of values of the tap."""
        return self.grid[0] * self.grid[1] * self.grid[2]


class ExitsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Exits at some cuts of a network, for all its words."""

    cuts: Annotated[tuple[ExitCut, ...], Meta(min_length=1, max_length=MOST_EXITS)]
    """In dataflow order."""
    vocabulary: Vocabulary
    agreement: Share
    """Share of the exits' answers that must be the end's."""

    def __post_init__(self) -> None:
        if len({cut.tensor for cut in self.cuts}) < len(self.cuts):
            raise ValueError("two places are the same")
        if any(later.share < cut.share for cut, later in pairwise(self.cuts)):
            raise ValueError("places are not in the order of the network")
        if self.layout.dims > MOST_VALUES:
            raise ValueError(f"samples of {self.layout.dims} numbers are more than {MOST_VALUES}")

    @property
    def layout(self) -> RowLayout:
        return RowLayout(tuple(cut.values for cut in self.cuts), self.vocabulary.labels)

    def why_unfit(self, card: ArtefactCard, identity: str) -> str | None:
        """Why an artefact is not for these cuts of a network with this identity; None where it is."""
        if card.model_identity != identity:
            return "for other weights, or another input"
        if card.vocabulary != self.vocabulary:
            return "for other words"
        known = {(cut.tensor, cut.grid): place for place, cut in enumerate(self.cuts)}
        found = [known.get((each.tensor, each.grid), -1) for each in card.exits]
        if found[0] < 0 or any(later <= earlier for earlier, later in pairwise(found)):
            return "for other cuts"
        return None


MOST_CUTS = 2
"""Cuts at which exits are asked together: three cost more than a third exit answers."""


def fitting(cuts: Sequence[ExitCut], labels: int) -> Sequence[ExitCut]:
    """The cuts of which a sample can hold the taps of any, beside the probabilities of so many labels: the largest go.

    Raises ModelError where none is left.
    """
    kept = sorted(cuts, key=lambda cut: cut.values)
    values = 0
    while kept and (values := RowLayout(tuple(cut.values for cut in kept[-MOST_CUTS:]), labels).dims) > MOST_VALUES:
        kept.pop()
    if not kept:
        raise ModelError(f"a sample of {labels} words would take {values} numbers, and {MOST_VALUES} are the most")
    return [cut for cut in cuts if cut in kept]
