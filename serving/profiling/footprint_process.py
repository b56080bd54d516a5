"""The process that measures the cost of loading a network; nothing else takes or frees memory in it.

A graph of one node is run first, so that the runtime's own memory, taken once per process, is not charged to the
network.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import msgspec
from onnx import TensorProto, helper

from serving.common.processes.parent import ParentProcess
from serving.common.untrusted import decode
from serving.engines.memory import give_back, resident_bytes
from serving.errors import ModelError, SluiceError
from serving.loading.opening import engine_for
from serving.profiling.footprint import LARGEST_BYTES, Footprint, FootprintRequest, NoFootprint
from serving.variants.variant import Variant


def main() -> None:
    """Measure what the parent asks for."""
    parent = ParentProcess(LARGEST_BYTES)
    parent.send(msgspec.json.encode(_answer(decode(parent.receive(), FootprintRequest))))


def _answer(asked: FootprintRequest) -> Footprint | NoFootprint:
    variant = Variant(asked.model, asked.engine, asked.precision, asked.rank, asked.max_batch)
    try:
        return measure(variant, Path(asked.path), asked.threads, asked.batch)
    except SluiceError as error:
        return NoFootprint(str(error), isinstance(error, ModelError))


def measure(variant: Variant, model: Path, threads: int, batch: int) -> Footprint:
    """Measure in this process, which must have done nothing yet."""
    awake = engine_for(replace(variant, precision="fp32"), threads)
    awake.load([_one_node()])
    graph = model.read_bytes()
    give_back()
    before, started = resident_bytes(), time.perf_counter()
    engine = engine_for(variant, threads)
    engine.load([graph])
    load_s = time.perf_counter() - started
    outputs = engine.run(0, engine.inputs[0].blank(batch))
    del outputs
    give_back()
    return Footprint(load_s, max(resident_bytes() - before, 0))


def _one_node() -> bytes:
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [image], [answer])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
