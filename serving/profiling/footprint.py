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

from serving.common.child_job import asked, do_job
from serving.common.child_process import ChildProcess, Closed, Silent
from serving.common.precision import Device, Precision
from serving.common.untrusted import decode
from serving.engines.execution_device import CHOICE, one_node
from serving.errors import Malformed, ModelError, OutOfService, SluiceError
from serving.loading.opening import engine_for
from serving.variants.variant import EngineName, Variant

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
    item: tuple[int, ...]
    """The shape of an item; empty: the graph's."""
    device: Device
    """The device that may run it."""
    gpu: int
    """Index of the GPU."""

    def result(self) -> bytes:
        """Measure it; SluiceError where that fails."""
        CHOICE.wanted, CHOICE.index = self.device, self.gpu
        variant = Variant(self.model, self.engine, self.precision, max_batch=self.max_batch)
        return msgspec.json.encode(measure(variant, Path(self.path), self.threads, self.batch, self.item))


class Footprint(msgspec.Struct, frozen=True):
    """The cost of loading one network in one engine."""

    load_s: float
    """Opening it and running one item."""
    memory_bytes: int
    """Taken more than before, after a run at the largest batch; on a GPU of its memory."""


def footprint(
    variant: Variant, model: Path, threads: int, batch: int, item: tuple[int, ...] = (), longest_s: float = LONGEST_S
) -> Footprint:
    """Load a graph in a fresh process and run ``batch`` items of this shape; raises ModelError, SluiceError."""
    what = f"variant {variant.id!r}"
    form = (variant.model, variant.engine, variant.precision, variant.max_batch)
    request = FootprintRequest(*form, str(model.absolute()), threads, batch, item, CHOICE.wanted, CHOICE.index)
    with closing(ChildProcess("serving.profiling.footprint", "the process that measures memory")) as child:
        try:
            answer = asked(child, msgspec.json.encode(request), longest_s)
        except Silent:
            raise OutOfService(f"{what} did not return from being loaded and run within {longest_s:g} s") from None
        except (Closed, Malformed) as error:
            raise SluiceError(f"{what}: {error}") from None
    if answer.error:
        raise (ModelError if answer.bad_input else SluiceError)(answer.error)
    return decode(answer.result, Footprint)


def measure(variant: Variant, model: Path, threads: int, batch: int, item: tuple[int, ...] = ()) -> Footprint:
    """Measure in this process, which must have done nothing yet."""
    awake = engine_for(replace(variant, precision="fp32"), threads)
    awake.load([one_node()])
    graph = model.read_bytes()
    before, started = awake.used_bytes(), time.perf_counter()
    engine = engine_for(variant, threads)
    engine.load([graph])
    load_s = time.perf_counter() - started
    given = engine.inputs[0]
    outputs = engine.run(0, replace(given, shape=(None, *item) if item else given.shape).blank(batch))
    del outputs
    return Footprint(load_s, max(engine.used_bytes() - before, 0))


if __name__ == "__main__":
    do_job(FootprintRequest, niceness=0)
