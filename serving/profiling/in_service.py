"""Times a network beside the work of a process that is serving: in the background, a little at a time.

That is enough to know what fits a deadline. ``profiler.py`` compares variants fairly, with their answers, and takes
minutes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.preprocess import batch

BATCHES = (1, 2, 4, 8)
RUNS = 6
"""So often each batch runs, after once to warm up."""
REST = 9.0
"""After each run it rests so many times as long: other background work, such as audits, must not wait for all of it."""


async def quiet_times(
    card: ModelCard,
    infer: Callable[[Array], Awaitable[object]],
    clock: Callable[[], float],
    rest: Callable[[float], Awaitable[None]],
) -> dict[int, float]:
    """Seconds for each batch: of six runs the second shortest, since the work of others delays the rest.

    How much longer it takes among that work is learnt while it serves.

    ``infer`` runs a batch of prepared items; it raises what the network raises. ``rest`` waits for so many seconds.
    """
    picture = np.full((card.input.height, card.input.width, 3), 127, np.uint8)
    found: dict[int, float] = {}
    for size in (each for each in BATCHES if each <= (card.max_batch or BATCHES[-1])):
        items, _ = batch(card.input, [picture] * size)
        took: list[float] = []
        for _ in range(1 + RUNS):
            started_s = clock()
            await infer(items)
            took.append(clock() - started_s)
            await rest(REST * took[-1])
        found[size] = max([sorted(took[1:])[1], *found.values()])
    return found
