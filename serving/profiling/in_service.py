"""Times a network beside the work of a process that is serving: in the background, a little at a time.

That is enough to know what fits a deadline. ``profiler.py`` compares variants fairly, with their answers, and takes
minutes. Whatever else a machine does only adds to what is measured, and may last longer than the measurement. So a
model is measured at ``MOMENTS`` moments, minutes apart, and the least counts. After that it is measured where service
has taken another multiple of what was measured than ``FACTOR`` allows for ``LONG_S``; as long as nothing comes of that,
ever more seldom.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.preprocess import batch

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


BATCHES = (1, 2, 4, 8)
RUNS, RUNS_ELSEWHERE = 6, 2
"""So often each batch runs, after once to warm up; and where another machine runs it: calls in service tell more."""
REST = 9.0
"""After each run it rests so many times as long: other background work, such as audits, must not wait for all of it."""


async def quiet_times(
    card: ModelCard,
    infer: Callable[[Array], Awaitable[object]],
    clock: Callable[[], float],
    rest: Callable[[float], Awaitable[None]],
    runs: int = RUNS,
) -> dict[int, float]:
    """Seconds for each batch: of so many runs, two or more, the second shortest, as the work of others delays the rest.

    How much longer it takes among that work is learnt while it serves.

    ``infer`` runs a batch of prepared items; it raises what the network raises. ``rest`` waits for so many seconds.
    """
    picture = np.full((card.input.height, card.input.width, 3), 127, np.uint8)
    found: dict[int, float] = {}
    for size in (each for each in BATCHES if each <= (card.max_batch or BATCHES[-1])):
        items, _ = batch(card.input, [picture] * size)
        took: list[float] = []
        for _ in range(1 + runs):
            started_s = clock()
            await infer(items)
            took.append(clock() - started_s)
            await rest(REST * took[-1])
        found[size] = max([sorted(took[1:])[1], *found.values()])
    return found
