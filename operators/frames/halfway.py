"""Regions of a frame that a network has been run for halfway: its next run for them goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from operators.frames.frame import Region
from serving.common.tensors import Array
from serving.engines.exits import Exits


class Rest(NamedTuple):
    """The later layers of a network."""

    name: str
    """The name under which they are run; their outputs are ``ExitOutputs``."""
    exits: Exits
    """Those that may answer in them."""


class Halfway:
    """The output of a network's first layers for some regions."""

    def __init__(self, model: str, rest: Rest, regions: Sequence[Region], activations: Array, spared_s: float) -> None:
        """``model``: the network; ``rest``: its later layers, which take ``activations``, one row for each region.

        ``spared_s``: processor seconds that the network is spared at each region for which it goes on from here.
        """
        self.rest, self.spared_s = rest, spared_s
        self.resumed = 0
        """Regions for which it has gone on from here."""
        self._model, self._activations = model, activations
        self._places = {id(region): (region, place) for place, region in enumerate(regions)}

    @property
    def saved_s(self) -> float:
        """Processor seconds that the network has been spared."""
        return self.resumed * self.spared_s

    def has(self, model: str, regions: Sequence[Region]) -> bool:
        """Whether this model has been run for all of these regions."""
        return model == self._model and all(id(region) in self._places for region in regions)

    def rows(self, regions: Sequence[Region]) -> Array:
        rows: Array = self._activations[[self._places[id(region)][1] for region in regions]]
        return rows
