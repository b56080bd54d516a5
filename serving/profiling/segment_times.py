"""Times each segment of a network."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import numpy as np
import onnx

from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.base import Engine
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.profiling.timing import median, take_turns


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
    try:
        item = _item(name, engine)
        rounds = take_turns({name: lambda: timed(engine, item, clock)}, budget_s, random.Random(0), clock)[name]
    finally:
        engine.close()
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
