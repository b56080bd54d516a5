"""What loading a network costs, measured in a process of its own: there nothing else comes and goes meanwhile.

The engine is woken by a graph of one node before, so that what the runtime itself takes, once per process, is not
charged to the network.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from serving.engines.memory import give_back, resident_bytes
from serving.errors import SluiceError
from serving.opening import engine_for
from serving.variants import Variant


@dataclass(frozen=True, slots=True)
class Footprint:
    """Of one network in one engine."""

    load_s: float
    """Opening it and running one item."""
    memory_bytes: int
    """Resident more than before, after a run at the largest batch."""


def footprint(variant: Variant, model: Path, threads: int, batch: int) -> Footprint:
    """Load a graph in a fresh process and run ``batch`` items; raises ModelError, SluiceError."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as child:
        try:
            return child.submit(measure, variant, model, threads, batch).result()
        except BrokenProcessPool:
            raise SluiceError(f"variant {variant.id!r}: the process that measured its memory died") from None


def measure(variant: Variant, model: Path, threads: int, batch: int) -> Footprint:
    """The same in this process, which must have done nothing yet."""
    awake = engine_for(replace(variant, precision="fp32"), threads)
    awake.load([_one_node()])
    graph = model.read_bytes()
    give_back()
    before, started = resident_bytes(), time.perf_counter()
    engine = engine_for(variant, threads)
    engine.load([graph])
    load_s = time.perf_counter() - started
    spec = engine.inputs[0]
    outputs = engine.run(0, np.zeros((batch, *(dim or 1 for dim in spec.shape[1:])), spec.dtype))
    del outputs
    give_back()
    return Footprint(load_s, max(resident_bytes() - before, 0))


def _one_node() -> bytes:
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [image], [answer])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())
