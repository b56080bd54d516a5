"""Decides which looks at a tracked object count as observations of its stream. Pure."""

from __future__ import annotations

from collections import OrderedDict

EVERY_S = 0.3
"""Shortest time between two looks at one track that count, since frequent looks are not independent."""
REMEMBERED = 4096
"""Number of tracks that are kept: those that were looked at last."""


class Sightings:
    """When the tracks of one run of a stream were last counted; times are media seconds."""

    def __init__(self) -> None:
        self._counted_at_s: OrderedDict[int, float] = OrderedDict()

    def is_news(self, track: int | None, at_s: float) -> bool:
        """Count this look as an observation, if it is one; objects without a track always count."""
        if track is None:
            return True
        before_s = self._counted_at_s.pop(track, None)
        news = before_s is None or not 0 <= at_s - before_s < EVERY_S
        self._counted_at_s[track] = at_s if before_s is None or news else before_s
        if len(self._counted_at_s) > REMEMBERED:
            self._counted_at_s.popitem(last=False)
        return news
