"""Timing runs in turns, and each segment of a network: nothing else is compared fairly on a machine that others use as
well, or that gets warm.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from typing import TypeVar

import numpy as np
import onnx

from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.engine import Engine
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError

LEAST_ROUNDS, MOST_ROUNDS = 3, 200

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")


def take_turns(
    runs: Mapping[Key, Callable[[], T]],
    budget_s: float,
    rng: random.Random,
    clock: Callable[[], float],
    report: Callable[[float], None] = lambda share: None,
) -> dict[Key, list[T]]:
    """Collect the results of every run in each round; all run once per round, in an order drawn anew.

    A first round, which warms up, does not count. Rounds go on while another one fits in the budget, but there are at
    least ``LEAST_ROUNDS``. ``report`` is told the share of the budget that is spent.
    """
    found: dict[Key, list[T]] = {key: [] for key in runs}
    for run in runs.values():
        run()
    started, done = clock(), 0
    while done < LEAST_ROUNDS or (done < MOST_ROUNDS and _fits(clock() - started, done, budget_s)):
        for key in rng.sample(list(runs), len(runs)):
            found[key].append(runs[key]())
        done += 1
        report(max(done / MOST_ROUNDS, min((clock() - started) / budget_s, 1.0)))
    return found


def batch_sizes(most: int) -> list[int]:
    """1, 2, 4 … up to ``most``, itself included."""
    powers = [1 << power for power in range(most.bit_length())]
    return powers if powers[-1] == most else [*powers, most]


def median(seconds: Sequence[float]) -> float:
    return float(np.median(seconds))


def p95(seconds: Sequence[float]) -> float:
    """The time that 95 of 100 runs stay below."""
    return float(np.quantile(seconds, 0.95))


def _fits(spent_s: float, rounds: int, budget_s: float) -> bool:
    return spent_s * (rounds + 1) / rounds <= budget_s


def segment_times(
    name: str,
    segments: Sequence[onnx.ModelProto],
    threads: int,
    budget_s: float,
    clock: Callable[[], float] = time.perf_counter,
    precision: Precision = "fp32",
) -> list[float]:
    """Median seconds of each segment for one item in the default engine, from runs for about ``budget_s``.

    ``name``: the model's, for messages; ``precision``: of the graph.
    ModelError where the input leaves open more than the batch.
    """
    engine = OnnxRuntimeEngine(name, threads=threads, precision=precision)
    engine.load([segment.SerializeToString() for segment in segments])
    with closing(engine):
        item = _item(name, engine)
        rounds = take_turns({name: lambda: timed(engine, item, clock)}, budget_s, random.Random(0), clock)[name]
    return [median(seconds) for seconds in zip(*rounds, strict=True)]


def _item(name: str, engine: Engine) -> Array:
    spec = engine.inputs[0]
    size = [dim for dim in spec.shape[1:] if dim is not None]
    if len(size) < len(spec.shape) - 1:
        raise ModelError(f"model {name!r} takes {spec}: export it with a fixed size to time its segments")
    return np.random.default_rng(0).uniform(0, 2, (1, *size)).astype(spec.dtype)


def timed(engine: Engine, batch: Array, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Seconds of each segment; each takes the output of the one before it."""
    seconds = []
    for segment in range(len(engine.inputs)):
        started = clock()
        batch = engine.run(segment, batch)[0]
        seconds.append(clock() - started)
    return seconds
