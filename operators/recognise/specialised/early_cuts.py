"""The oracle in two halves: a head reads at the end of the first, and what it passes on goes on through the rest."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from operators.audits.unit_costs import HANDLING_S, RESUMING_S, UnitCosts
from operators.frames.frame import Region
from operators.frames.halfway import Halfway, Rest
from operators.inference import Inference
from serving.common.tensors import Array
from serving.engines.exits import Exits
from serving.errors import ModelError, SluiceError

log = logging.getLogger(__name__)


RETRIED = 64
"""Where that does not pay, it goes on once in so many times."""


class _Cut(NamedTuple):
    """The oracle, cut where a template ends."""

    first: str
    rest: Rest


class EarlyCuts:
    """For the templates of a node that are cut from its very oracle."""

    def __init__(
        self,
        engine: Inference,
        oracle: str,
        templates: Collection[str],
        costs: UnitCosts,
        exits: Callable[[], Exits | None] = lambda: None,
    ) -> None:
        """``exits``: gives those of the node's learned caches, which answer in the rest."""
        self._engine, self._oracle, self._costs, self._exits = engine, oracle, costs, exits
        self._templates = set(templates)
        self._cuts: dict[str, _Cut] = {}
        self._spared_s: dict[str, float] = {}
        """By template, what the rest takes less than the whole while no exit answers in it."""
        self._declined: Counter[str] = Counter()
        """By template, how often to go on did not pay."""

    def may_cut(self, template: str) -> bool:
        """Whether the oracle could be cut at this template's cut, and has not been."""
        return template in self._templates and template not in self._cuts

    async def cut(self, template: str) -> float:
        """Cut the oracle at a template's cut and load it; returns the processor seconds that it took.

        ModelError where it cannot be cut there: the template runs by itself from then on.
        """
        exits = self._exits() or Exits(())
        first, rest = self._engine.add_halves(self._oracle, template, exits)
        try:
            seconds = await self._engine.load(first)
        except ModelError as error:
            self.leave(template, error)
            raise
        self._cuts[template] = _Cut(first, Rest(rest, exits))
        return seconds

    def leave(self, template: str, error: SluiceError) -> None:
        """The oracle does not run in halves: what heads of the template pass on begins at its first layer."""
        log.info("%s does not go on where heads of %s have read: %s", self._oracle, template, error)
        self._templates.discard(template)
        self._cuts.pop(template, None)

    def first(self, template: str) -> str | None:
        """The name of the half at whose end heads read; None where the template runs by itself."""
        cut = self._cuts.get(template)
        return cut.first if cut else None

    def spared_s(self, template: str, share: float) -> float:
        """Processor seconds that the oracle is spared at each object that a head passes on; 0 where it is not cut.

        Exits in the rest are others' merit. ``share``: what the template costs, as a share of the oracle's network.
        """
        cut = self._cuts.get(template)
        if cut is None:
            return 0.0
        if not cut.rest.exits.now.by_cut:
            whole_s, rest_s = self._costs.single_s(self._oracle), self._costs.single_s(cut.rest.name)
            if whole_s is not None and rest_s is not None:
                self._spared_s[template] = whole_s - rest_s
        known_s = self._spared_s.get(template)
        return self.hoped_s(share) if known_s is None else known_s + HANDLING_S - RESUMING_S

    def hoped_s(self, share: float) -> float:
        """The same as it is guessed before it is observed."""
        network_s = self._costs.network_s(self._oracle)
        return 0.0 if network_s is None else share * network_s + HANDLING_S - RESUMING_S

    def halfway(self, template: str, regions: Sequence[Region], activations: Array, spared_s: float) -> Halfway | None:
        """Activations from which the oracle goes on; None where that spares nothing, but for a try now and then."""
        cut = self._cuts.get(template)
        if cut is None:
            return None
        if spared_s <= 0:
            self._declined[template] += 1
            if self._declined[template] % RETRIED:
                return None
        return Halfway(self._oracle, cut.rest, regions, activations, spared_s)
