"""What ResNet-18 makes of the CIFAR-10 test images, and what a look costs that leaves at each of its places."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.caches_images_parts.cases import NAME, archive, decoded, network
from benchmarks.caches_locality_parts.streams import CLASSES
from benchmarks.harness import interleaved
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.training import Lessons, train_predictor
from operators.recognise.cached.building import ARCHITECTURES, CutPlace
from pipelines.measure.cache_places import nearest, places_of
from pipelines.measure.tapped_pictures import forward_tapped
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitSet, RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import tapped

TIMED = 40

Places = tuple[int, ...]
"""Which of the places have caches."""


@dataclass(frozen=True)
class Images:
    """What the network makes of all images, and what looks cost."""

    plan: Sequence[CutPlace]
    taps: Sequence[Array]
    """By place, N × values."""
    answers: NDArray[np.intp]
    labels: NDArray[np.intp]
    leave_s: Mapping[Places, Sequence[float]]
    """By places that have caches: seconds of a look that leaves at each of them, then of one that leaves at none."""
    whole_s: float


def images(count: int) -> Images:
    """The same for so many images, in random order."""
    jpegs, labels = archive()
    chosen = default_rng(0).permutation(len(jpegs))[:count]
    items, model = decoded([jpegs[at] for at in chosen]), network()
    places = nearest(cut_points(model))
    plan = places_of(places)
    taps, scores = forward_tapped(NAME, model, places, items, lambda what, share: None)
    whole_s, leave_s = _costs(model, places, plan, items[:TIMED])
    return Images(plan, taps, scores.argmax(axis=1), labels[chosen].astype(np.intp), leave_s, whole_s)


def _costs(
    model: Any, places: Sequence[CutPoint], plan: Sequence[CutPlace], items: Array
) -> tuple[float, dict[Places, list[float]]]:
    """Median processor seconds: of the whole network, and by places with caches of leaving at each and at none."""
    whole = EngineNetwork(NAME, model, OnnxRuntimeEngine(NAME, threads=1))
    opened = ExitNetwork(NAME, tapped(model, places), [cut.tensor for cut in plan], OnnxRuntimeEngine(NAME, threads=1))
    turns = iter(range(10**9))

    def timed(run: Callable[[Array], object]) -> float:
        item = items[next(turns) % len(items)][None]
        started_s = time.process_time()
        run(item)
        return time.process_time() - started_s

    def run(policy: RowPolicy, item: Array) -> object:
        return opened.run([GroupRequest(NAME, item, policy=policy)], 1)

    runs: dict[tuple[Places, int], Callable[[], float]] = {((), 0): partial(timed, whole.run)}
    chosen = [some for count in range(1, len(plan) + 1) for some in combinations(range(len(plan)), count)]
    for some in chosen:
        for leaves in range(len(some) + 1):
            caches = [_blank(plan[place], 2.0 if at == leaves else 0.0) for at, place in enumerate(some)]
            policy = RowPolicy(ExitSet({cache.tensor: cache for cache in caches}, CLASSES))
            runs[some, leaves] = partial(timed, partial(run, policy))
    took = interleaved(runs, TIMED)
    leave_s = {some: [median(took[some, leaves]) for leaves in range(len(some) + 1)] for some in chosen}
    return median(took[(), 0]), leave_s


def _blank(cut: CutPlace, threshold: float) -> LearnedCache:
    """A cache that has learnt nothing; the clock does not care."""
    nothing = Lessons(np.zeros((2, int(np.prod(cut.grid))), np.float32), cut.grid, np.zeros(2, np.intp), None, CLASSES)
    return LearnedCache(cut.tensor, train_predictor(ARCHITECTURES[0], nothing, default_rng(0), 0), None, threshold)
