"""How a scheduler has shared the load of each network out among backends. Pure but for its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Rates = Mapping[str, Mapping[str, float]]
"""By network and then by backend process: items per second that it is to serve."""


@dataclass(slots=True)
class PlacedRates:
    """The latest placement that this process has heard of; none at first."""

    epoch: int = 0
    rates: Rates = field(default_factory=dict)

    def take(self, epoch: int, rates: Rates) -> None:
        self.epoch, self.rates = epoch, rates

    def of(self, network: str) -> Mapping[str, float]:
        """The backends that serve a network; none where no placement speaks of it."""
        return self.rates.get(network, {})
