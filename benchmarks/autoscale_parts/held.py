"""A load that rises at once and falls late, so that instances do not go and come with every lull.

Romero et al., 2021, §4.2.2 wait T_v, the time a variant takes to load, before they scale down. Here the load itself
waits: what is planned for is the most of at least the last T_v seconds, so all that a lull would save waits alike.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeldLoad:
    """The most items per second of late.

    >>> load = HeldLoad.first(80.0, now_s=0.0)
    >>> [load := load.then(each, now_s, 10.0) for each, now_s in ((4.0, 1.0), (6.0, 9.0), (4.0, 11.0), (4.0, 22.0))][1:]
    ... # doctest: +NORMALIZE_WHITESPACE
    [HeldLoad(items_per_s=80.0, since_s=0.0, next=6.0), HeldLoad(items_per_s=6.0, since_s=11.0, next=4.0),
     HeldLoad(items_per_s=4.0, since_s=22.0, next=4.0)]
    """

    items_per_s: float
    since_s: float
    next: float
    """The most since then."""

    @classmethod
    def first(cls, items_per_s: float, now_s: float) -> HeldLoad:
        return cls(items_per_s, now_s, 0.0)

    def then(self, items_per_s: float, now_s: float, calm_s: float) -> HeldLoad:
        """After one more look; a lower load is believed after ``calm_s``."""
        if items_per_s >= self.items_per_s:
            return HeldLoad.first(items_per_s, now_s)
        seen = max(self.next, items_per_s)
        if now_s - self.since_s < calm_s:
            return HeldLoad(self.items_per_s, self.since_s, seen)
        return HeldLoad(seen, now_s, items_per_s)
