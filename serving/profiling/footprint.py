"""Measures the cost of loading a network in a process of its own, where nothing else takes or frees memory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from serving.common.precision import Precision
from serving.common.processes.child import ChildProcess, Closed, Silent
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError, OutOfService, SluiceError
from serving.variants.variant import EngineName, Variant

LARGEST_BYTES = 1 << 16
LONGEST_S = 600.0
"""A network that has not been loaded and run by then never returns."""


class FootprintRequest(msgspec.Struct, frozen=True):
    """A variant and its file."""

    model: str
    engine: EngineName
    precision: Precision
    rank: int | None
    max_batch: int | None
    path: str
    threads: int
    batch: int


class Footprint(msgspec.Struct, frozen=True, tag=True):
    """The cost of loading one network in one engine."""

    load_s: float
    """Opening it and running one item."""
    memory_bytes: int
    """Resident more than before, after a run at the largest batch."""


class NoFootprint(msgspec.Struct, frozen=True, tag=True):
    """The reason why there is no footprint; ``model``: whether the model itself is at fault."""

    error: str
    model: bool


def footprint(variant: Variant, model: Path, threads: int, batch: int, longest_s: float = LONGEST_S) -> Footprint:
    """Load a graph in a fresh process and run ``batch`` items; raises ModelError, SluiceError."""
    what = f"variant {variant.id!r}"
    form = (variant.model, variant.engine, variant.precision, variant.rank, variant.max_batch)
    with ChildProcess("serving.profiling.footprint_process", "the process that measures memory") as child:
        child.send(msgspec.json.encode(FootprintRequest(*form, str(model.absolute()), threads, batch)))
        try:
            answer: Footprint | NoFootprint = decode(child.receive(longest_s, LARGEST_BYTES), Footprint | NoFootprint)
        except Silent:
            raise OutOfService(f"{what} did not return from being loaded and run within {longest_s:g} s") from None
        except (Closed, Malformed) as error:
            raise SluiceError(f"{what}: {error}") from None
    if isinstance(answer, NoFootprint):
        raise (ModelError if answer.model else SluiceError)(answer.error)
    return answer
