"""All engines that can run a network here, asked about the same pictures and timed in turns."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple, Protocol

import torch
from torch import nn

from benchmarks.engines_parts.cases import Case
from benchmarks.engines_parts.pytorch_engine import PyTorchEngine
from serving.common.tensors import Array
from serving.engines.network import run_in_steps
from serving.graphs.quantise import quantised
from serving.profiling import contenders
from serving.profiling.agreement import same_class
from serving.profiling.timing import take_turns
from serving.variants.variant import Variant

BATCHES = (1, 8)
STEP = 32
EMULATED_ITEMS = 200
"""Asked of an engine that is not timed; arithmetic without instructions for it is slow."""


class Way(NamedTuple):
    """How a network is run; ``eager`` is the baseline, a PyTorch module called as it is."""

    engine: str
    precision: str


REFERENCE, EAGER, PYTORCH, EMULATED = (
    Way("onnxruntime", "fp32"),
    Way("eager", "fp32"),
    Way("pytorch", "fp32"),
    Way("pytorch", "bf16"),
)


class Runs(Protocol):
    """What is asked: an engine, or the baseline."""

    def run(self, segment: int, batch: Array) -> list[Array]:
        """Outputs of the whole network."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """What one way showed. ``latency_s`` by size of batch, empty where it was not timed."""

    latency_s: Mapping[int, float]
    agreement: float | None
    """Share of items with the reference's best class; None without pictures."""
    items: int


class Eager:
    """A module as PyTorch runs it by itself, on the GPU where there is one."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module.to(device())

    def run(self, _segment: int, batch: Array) -> list[Array]:
        """Its one output."""
        with torch.inference_mode():
            answers: Array = self._module(torch.from_numpy(batch).to(device())).cpu().numpy()
        return [answers]


def contest(case: Case, budget_s: float) -> Mapping[Way, Result]:
    """Everything measured on one network; timing takes about ``budget_s``."""
    ways = _opened(case)
    timed = {way: engine for way, engine in ways.items() if way != EMULATED or device() == "cuda"}
    seconds = _timed(case, timed, budget_s)
    wanted = _answers(ways[REFERENCE], case.held_out) if len(case.held_out) else []
    results = {}
    for way, engine in ways.items():
        items = case.held_out if way in timed else case.held_out[:EMULATED_ITEMS]
        agreement = None
        if len(items):
            agreement = float(same_class([wanted[0][: len(items)]], _answers(engine, items)).mean())
        latency_s = {size: median(seconds[way, size]) for size in BATCHES if way in timed}
        results[way] = Result(latency_s, agreement, len(items))
    return results


def device() -> str:
    """Where PyTorch runs; ONNX Runtime chooses by itself."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _opened(case: Case) -> dict[Way, Runs]:
    """Every way that this machine has; why another is missing is printed."""
    models = {
        Variant(case.name, "onnxruntime", "fp32"): case.model,
        Variant(case.name, "openvino", "fp32"): case.model,
        Variant(case.name, "openvino", "bf16"): case.model,
    }
    if len(case.held_out):
        int8 = quantised(case.name, case.model, case.calibration)
        models |= {Variant(case.name, engine, "int8"): int8 for engine in ("onnxruntime", "openvino")}
    engines, refused = contenders.opened(models, None)
    for variant, reason in refused.items():
        print(f"{variant.id}: {reason}")
    ways: dict[Way, Runs] = {Way(variant.engine, variant.precision): engine for variant, engine in engines.items()}
    if case.module is not None:
        ways |= {EAGER: Eager(case.module), PYTORCH: PyTorchEngine(case.module, device())}
        if device() == "cuda" or Way("openvino", "bf16") not in ways:
            ways[EMULATED] = PyTorchEngine(case.module, device(), torch.bfloat16)
    return ways


def _timed(case: Case, ways: Mapping[Way, Runs], budget_s: float) -> Mapping[tuple[Way, int], list[float]]:
    turns = {
        (way, size): partial(_turn, engine, case.calibration[:size]) for way, engine in ways.items() for size in BATCHES
    }
    return take_turns(turns, budget_s, random.Random(0), time.perf_counter)


def _turn(engine: Runs, batch: Array) -> float:
    """Seconds of the second of two runs: the first finds caches and cores busy with what ran before."""
    engine.run(0, batch)
    started = time.perf_counter()
    engine.run(0, batch)
    return time.perf_counter() - started


def _answers(engine: Runs, items: Array) -> list[Array]:
    return run_in_steps(partial(engine.run, 0), items, STEP)
