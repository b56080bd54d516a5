"""The input and the job of building caches, here or in an adaptation worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from cache_adapt.caches.job import CachesAnswer, CachesJob, CutJob
from cache_adapt.caches.tune import Costs
from learning.job_child import LARGEST_BYTES
from serving.common.untrusted import decode

BUILDING_S = 6.0
"""First guess of the processor time of building."""
OPENING_S, BYTE_S = 0.2, 18e-9
"""Processor time of cutting an oracle and loading it once more, as it is taken to be: at least, and for each byte."""
CUT_S = 0.00015
"""Processor seconds of a cut and its tap, for one item."""
ARCHITECTURES = ("FC(64)",)
INDEPENDENT = 0.35
"""As how many samples each counts: a track gives about four, whose errors are alike (intraclass correlation .6)."""


class Runner(Protocol):
    """Runs a job elsewhere."""

    async def run(self, job: bytes) -> bytes:
        """Return the answer; SluiceError where there is none."""
        ...

    async def close(self) -> None:
        """Give up the job under way."""
        ...


@dataclass(frozen=True, slots=True)
class CutPlace:
    """A place for a cache in an oracle that has none yet."""

    tensor: str
    grid: tuple[int, int, int]
    share: float
    """Share of the oracle's work that is done up to here."""


@dataclass(frozen=True, slots=True)
class CutNetwork:
    """A network with its cut points, where caches are built."""

    model: str
    identity: str
    """The card's."""
    classes: int
    cuts: Sequence[CutPlace]
    """In dataflow order."""
    validation: Path | None = None
    """The directory of its validation set, with the same cuts; None: there is none."""


def costs_of(places: Sequence[CutPlace], cuts: Sequence[int], lookups: Sequence[float], look_s: float) -> Costs:
    """Costs of looks with caches at some ``cuts`` among the places; ``lookups``: seconds at each."""
    until = [places[cut].share * look_s + (cut + 1) * CUT_S for cut in cuts]
    return Costs(until, lookups, look_s + len(places) * CUT_S, look_s)


def job(
    network: CutNetwork, look_s: float, store: Path, agreement: float, seed: int, memory_bytes: int | None = None
) -> CachesJob:
    """The job of building caches from the taps in ``store``; ``look_s``: processor seconds of a look."""
    return CachesJob(
        store=str(store),
        model=network.model,
        model_identity=network.identity,
        classes=network.classes,
        cuts=tuple(CutJob(cut.tensor, cut.grid, cut.share * look_s, CUT_S) for cut in network.cuts),
        whole_s=look_s,
        agreement=agreement,
        architectures=ARCHITECTURES,
        seed=seed,
        independent=INDEPENDENT,
        memory_bytes=memory_bytes,
        validation="" if network.validation is None else str(network.validation),
    )


async def answer_of(runner: Runner, wanted: CachesJob) -> CachesAnswer:
    """Have a job done; SluiceError or Malformed where there is no answer."""
    return decode(await runner.run(msgspec.json.encode(wanted)), CachesAnswer, LARGEST_BYTES)
