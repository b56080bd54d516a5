"""How long each segment of a network takes in the default engine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import numpy as np
import onnx

from serving.engines.base import Array, Engine
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.timing import median, take_turns


def segment_times(
    name: str,
    segments: Sequence[onnx.ModelProto],
    threads: int,
    budget_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Seconds that each segment takes for one item: the median of runs through all of them, for about ``budget_s``.

    ``name``: of the model, for messages. ModelError where the input leaves open more than the batch.
    """
    engine = OnnxRuntimeEngine(name, threads=threads)
    engine.load([segment.SerializeToString() for segment in segments])
    try:
        item = _item(name, engine)
        rounds = take_turns({name: lambda: _timed(engine, item, clock)}, budget_s, random.Random(0), clock)[name]
    finally:
        engine.close()
    return [median(seconds) for seconds in zip(*rounds, strict=True)]


def _item(name: str, engine: Engine[bytes]) -> Array:
    spec = engine.inputs[0]
    size = [dim for dim in spec.shape[1:] if dim is not None]
    if len(size) < len(spec.shape) - 1:
        raise ModelError(f"model {name!r} takes {spec}: export it with a fixed size to time its segments")
    return np.random.default_rng(0).uniform(0, 2, (1, *size)).astype(spec.dtype)


def _timed(engine: Engine[bytes], batch: Array, clock: Callable[[], float]) -> list[float]:
    """Seconds of each segment, each fed with what the one before it said."""
    seconds = []
    for segment in range(len(engine.inputs)):
        started = clock()
        batch = engine.run(segment, batch)[0]
        seconds.append(clock() - started)
    return seconds
