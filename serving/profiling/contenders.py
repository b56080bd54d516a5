"""Opens variants of one network together, gives them the same input and times them in turns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import onnx

from serving.common.tensors import Array
from serving.common.threads import usable_cores
from serving.engines.engine import Engine
from serving.engines.network import run_in_steps
from serving.errors import SluiceError
from serving.loading.opening import engine_for
from serving.loading.thread_choice import chosen
from serving.profiling.timing import take_turns, timed
from serving.variants.variant import Variant

Engines = Mapping[Variant, Engine]
Seconds = Mapping[Variant, Mapping[int, Sequence[float]]]
"""By variant and batch size, one entry per run."""
TURN_S = 0.02


def opened(models: Mapping[Variant, onnx.ModelProto], directory: Path | None) -> tuple[Engines, Mapping[Variant, str]]:
    """Open an engine per variant; also returned is why some cannot be opened here.

    ``directory``: where it is kept how many threads run each variant when it serves; None: all.
    """
    engines: dict[Variant, Engine] = {}
    refused: dict[Variant, str] = {}
    for variant, model in models.items():
        try:
            engines[variant] = _opened(variant, model, directory)
        except SluiceError as error:
            refused[variant] = str(error)
    return engines, refused


def _opened(variant: Variant, model: onnx.ModelProto, directory: Path | None) -> Engine:
    graphs, open_with = [model.SerializeToString()], partial(engine_for, variant)
    engine = open_with(chosen(directory, variant, lambda: graphs, open_with, usable_cores()))
    engine.load(graphs)
    return engine


def close(engines: Engines) -> None:
    for engine in engines.values():
        engine.close()


def answers(engine: Engine, items: Array, step: int) -> list[Array]:
    """Outputs of a whole network for any number of items."""
    return run_in_steps(partial(engine.run, 0), items, step)


def time_all(
    engines: Engines,
    items: Callable[[Variant], Array],
    sizes: Sequence[int],
    budget_s: float,
    report: Callable[[float], None],
) -> Seconds:
    """Time every engine at every batch size, in turns, for about ``budget_s``; ``items``: what a variant takes."""
    turns = {
        (variant, size): partial(_turn, engine, _batch(items(variant), size))
        for variant, engine in engines.items()
        for size in sizes
    }
    found = take_turns(turns, budget_s, random.Random(0), time.perf_counter, report)
    return {
        variant: {size: [run for turn in found[variant, size] for run in turn] for size in sizes} for variant in engines
    }


def _batch(items: Array, size: int) -> Array:
    found: Array = items[[index % len(items) for index in range(size)]]
    return found


def _turn(engine: Engine, batch: Array) -> list[float]:
    """Seconds of each run of a turn.

    Where several runs fit in a turn, the first does not count: it finds the caches full of another network's weights.
    """
    started = time.perf_counter()
    runs = timed(engine, batch)
    while time.perf_counter() - started < TURN_S:
        runs += timed(engine, batch)
    return runs[1:] or runs
