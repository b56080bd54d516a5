"""When the times of a model are measured again. Pure.

Whatever else a machine does only adds to what is measured, and may last longer than the measurement. So a model is
measured at ``MOMENTS`` moments, minutes apart, and the least counts. After that it is measured where service has taken
another multiple of what was measured than ``FACTOR`` allows for ``LONG_S``; as long as nothing comes of that, ever more
seldom.
"""

from __future__ import annotations

MOMENTS = 3
FIRST_GAP_S, GAP_S, LONGEST_GAP_S = 60.0, 600.0, 86_400.0
"""From the first moment to the second, from each to the next at least, and at most."""
FACTOR = 2.0
LONG_S = 300.0


class ProfilingMoments:
    """Those of one model; ``now_s`` is that of a steady clock."""

    def __init__(self, made: int, now_s: float) -> None:
        """``made``: so many moments are known already."""
        self._made, self._gap_s = made, GAP_S
        self._next_s = now_s + FIRST_GAP_S
        self._differs_since_s: float | None = None

    def due(self, now_s: float, ratio: float | None) -> bool:
        """Whether to measure now; ``ratio``: service takes so many times what was measured, None: nobody knows."""
        if ratio is None or 1 / FACTOR <= ratio <= FACTOR:
            self._differs_since_s = None
        elif self._differs_since_s is None:
            self._differs_since_s = now_s
        if now_s < self._next_s:
            return False
        if self._made < MOMENTS:
            return True
        return self._differs_since_s is not None and now_s - self._differs_since_s >= LONG_S

    def measured(self, now_s: float, changed: bool) -> None:
        """Note that the model was measured; ``changed``: the least of its moments is another now."""
        self._made += 1
        if self._made > MOMENTS:
            self._gap_s = GAP_S if changed else min(2 * self._gap_s, LONGEST_GAP_S)
        self._next_s = now_s + (FIRST_GAP_S if self._made < MOMENTS - 1 else self._gap_s)
        self._differs_since_s = None
