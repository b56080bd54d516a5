"""Measures the cost of loading a network in a process of its own, where nothing else takes or frees memory.

Run as a module it is that process. A graph of one node is run first, so that the runtime's own memory, taken once per
process, is not charged to the network.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec

from serving.common.child_process import ChildProcess, Closed, ParentProcess, Silent
from serving.common.precision import Device, Precision
from serving.common.untrusted import decode
from serving.engines.execution_device import CHOICE, one_node
from serving.errors import Malformed, ModelError, OutOfService, SluiceError
from serving.loading.opening import engine_for
from serving.variants.variant import EngineName, Variant

LARGEST_BYTES = 1 << 16
LONGEST_S = 600.0
"""A network that has not been loaded and run by then never returns."""


class FootprintRequest(msgspec.Struct, frozen=True):
    model: str
    engine: EngineName
    precision: Precision
    max_batch: int | None
    path: str
    threads: int
    batch: int
    device: Device
    """The device that may run it."""
    gpu: int
    """Index of the GPU."""


class Footprint(msgspec.Struct, frozen=True, tag=True):
    """The cost of loading one network in one engine."""

    load_s: float
    """Opening it and running one item."""
    memory_bytes: int
    """Taken more than before, after a run at the largest batch; on a GPU of its memory."""


class NoFootprint(msgspec.Struct, frozen=True, tag=True):
    """The reason why there is no footprint; ``model``: whether the model itself is at fault."""

    error: str
    model: bool


def footprint(variant: Variant, model: Path, threads: int, batch: int, longest_s: float = LONGEST_S) -> Footprint:
    """Load a graph in a fresh process and run ``batch`` items; raises ModelError, SluiceError."""
    what = f"variant {variant.id!r}"
    form = (variant.model, variant.engine, variant.precision, variant.max_batch)
    with closing(ChildProcess("serving.profiling.footprint", "the process that measures memory")) as child:
        file, device = str(model.absolute()), (CHOICE.wanted, CHOICE.index)
        child.send(msgspec.json.encode(FootprintRequest(*form, file, threads, batch, *device)))
        try:
            answer: Footprint | NoFootprint = decode(child.receive(longest_s, LARGEST_BYTES), Footprint | NoFootprint)
        except Silent:
            raise OutOfService(f"{what} did not return from being loaded and run within {longest_s:g} s") from None
        except (Closed, Malformed) as error:
            raise SluiceError(f"{what}: {error}") from None
    if isinstance(answer, NoFootprint):
        raise (ModelError if answer.model else SluiceError)(answer.error)
    return answer


def main() -> None:
    """Measure what the parent asks for."""
    parent = ParentProcess(LARGEST_BYTES)
    parent.send(msgspec.json.encode(_answer(decode(parent.receive(), FootprintRequest))))


def _answer(asked: FootprintRequest) -> Footprint | NoFootprint:
    CHOICE.wanted, CHOICE.index = asked.device, asked.gpu
    variant = Variant(asked.model, asked.engine, asked.precision, max_batch=asked.max_batch)
    try:
        return measure(variant, Path(asked.path), asked.threads, asked.batch)
    except SluiceError as error:
        return NoFootprint(str(error), isinstance(error, ModelError))


def measure(variant: Variant, model: Path, threads: int, batch: int) -> Footprint:
    """Measure in this process, which must have done nothing yet."""
    awake = engine_for(replace(variant, precision="fp32"), threads)
    awake.load([one_node()])
    graph = model.read_bytes()
    before, started = awake.used_bytes(), time.perf_counter()
    engine = engine_for(variant, threads)
    engine.load([graph])
    load_s = time.perf_counter() - started
    outputs = engine.run(0, engine.inputs[0].blank(batch))
    del outputs
    return Footprint(load_s, max(engine.used_bytes() - before, 0))


if __name__ == "__main__":
    main()
