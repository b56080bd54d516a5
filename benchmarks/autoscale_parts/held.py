"""A load that rises at once and falls late, so that instances do not go and come with every lull.

Romero et al., 2021, §4.2.2 wait T_v, the time a variant takes to load, before they scale down. Here the load itself
waits: what is planned for is the most of the last T_v seconds, so all that a lull would save waits alike.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeldLoad:
    """The most items per second of late.

    >>> load = HeldLoad()
    >>> [(load := load.then(asked, now_s, 2.0)).items_per_s for now_s, asked in enumerate((80, 4, 6, 4, 4, 4))]
    [80, 80, 80, 6, 6, 4]
    """

    past: tuple[tuple[float, float], ...] = ()
    """Times and loads, of which each is higher than all that came after it."""

    @property
    def items_per_s(self) -> float:
        return self.past[0][1]

    def then(self, items_per_s: float, now_s: float, calm_s: float) -> HeldLoad:
        """After one more look; a lower load is believed after ``calm_s``."""
        kept = [each for each in self.past if each[1] > items_per_s and now_s - each[0] <= calm_s]
        return HeldLoad((*kept, (now_s, items_per_s)))
