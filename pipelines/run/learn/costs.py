"""The cost of a network, of its parts and of its cuts, for one look on one thread, measured here and now.

In processor seconds, on a GPU in seconds of that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from random import Random

import numpy as np

from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.tune import ExitCosts
from serving.catalogue.lookup import Entry, read_weights
from serving.common.tensors import Array
from serving.engines.execution_device import cost_s
from serving.engines.exit_network import ExitNetwork
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.segments import split
from serving.graphs.taps import tap_points, tapped
from serving.profiling.timing import median, segment_times, take_turns

BUDGET_S = 3.0
"""Seconds for each thing that is timed."""
FILLED = 4 << 20
"""Bytes that are written before a lookup is timed: in service a segment of the network has filled the same caches."""
LOOKUPS = 40


@dataclass(frozen=True)
class NetworkCosts:
    whole_s: float
    until_s: Sequence[float]
    """By place that was tried: the network up to there, without cuts."""
    cut_s: float
    """A cut with its tap."""

    def of(self, places: Sequence[int], lookups_s: Sequence[float]) -> ExitCosts:
        """With cuts at these places alone; ``lookups_s``: of the exits there."""
        until = [self.until_s[place] + number * self.cut_s for number, place in enumerate(places, 1)]
        return ExitCosts(until, lookups_s, self.whole_s + len(places) * self.cut_s, self.whole_s)


def network_costs(entry: Entry, cuts: Sequence[str], item: Array) -> NetworkCosts:
    """Measure a model with its cuts on one item (1 × …)."""
    name, model = entry.card.name, read_weights(entry.path, entry.card)
    whole = EngineNetwork(name, model, OnnxRuntimeEngine(name, threads=1))
    cut = ExitNetwork(name, tapped(model, tap_points(model, cuts)), cuts, OnnxRuntimeEngine(name, threads=1))
    try:
        took = item_s({"whole": partial(whole.run, item), "cut": partial(cut.run, [GroupRequest(name, item)], 1)})
    finally:
        whole.close()
        cut.close()
    seconds = segment_times(name, split(model, cuts), 1, BUDGET_S, cost_s)
    scale = took["whole"] / sum(seconds)
    until = [scale * each for each in accumulate(seconds[:-1])]
    return NetworkCosts(took["whole"], until, max((took["cut"] - took["whole"]) / len(cuts), 1e-6))


def item_s(runs: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Median cost of each run, in turns."""
    timed = {name: partial(_timed, run) for name, run in runs.items()}
    return {name: median(found) for name, found in take_turns(timed, BUDGET_S, Random(0), time.perf_counter).items()}


def lookup_s(known: LearnedExit) -> float:
    """Median processor seconds of asking an exit about one look."""
    grid = known.grid
    tap, filled = np.zeros((1, grid[0] * grid[1] * grid[2]), np.float32), np.zeros(FILLED, np.uint8)
    found = []
    for _ in range(LOOKUPS):
        filled += 1
        found.append(_timed(partial(known.look, tap)))
    return median(found)


def _timed(run: Callable[[], object]) -> float:
    started_s = cost_s()
    run()
    return cost_s() - started_s
