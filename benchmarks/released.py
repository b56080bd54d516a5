"""What it gains and costs that answers go out while the batch runs on (Dai et al., 2024 [Apparate], §5.2).

ResNet-18 on the CIFAR-10 test images: exits are learnt from one half, as ``sluice learn`` does it, for a share of right
ones among their answers; looks are made at the other half, in the real backend on one thread. The same image is looked
at in three ways, in random order: by the network ``whole``; with exits, where it leaves the batch (``compaction``);
with the same exits, where only its answer leaves (``release``). Latency is the time until the answer is on the event
loop; where four requests share a batch, since the device was free for it. The paper's goal: the median falls, and the
tail is at most 1.02 times that of the whole network. Thresholds stay as they were learnt.
"""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.caches_images_parts.cases import Case, cases
from benchmarks.exit_parts.cifar import Cifar
from benchmarks.exit_parts.learnt import Lessons
from benchmarks.harness import Outcome, Row, run
from benchmarks.weg_parts.cifar_models import LARGE
from cache_adapt.learned.artefact import ExitArtefact
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Array
from serving.engines.exits import Exit, ExitAnswers, ExitResult, ExitSet, RowPolicy
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency

TARGETS = (0.9, 0.97)
SHARING = (1, 4)
"""Requests of one batch, of one image each."""
TURNS = {1: 800, 4: 120}
QUICK, QUICK_TURNS, UNCOUNTED = 600, {1: 20, 4: 5}, 5
WAYS = ("whole", "compaction", "release")
NO_HASTE = Urgency(math.inf)


class Look(NamedTuple):
    """One image, and the answer."""

    latency_s: float
    answer: int
    early: bool
    """Whether an exit has answered."""


class Turn(NamedTuple):
    """One batch."""

    looks: Sequence[Look]
    processor_s: float


class Nothing(NamedTuple):
    """What an exit says that answers nothing."""

    distribution: Array
    hit: Array


class Door:
    """An exit that answers nothing, and holds the device until others wait behind."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def look(self, features: Array) -> Nothing:
        """See ``Exit``."""
        self.reached.set()
        self.open.wait()
        return Nothing(np.zeros((len(features), 1), np.float32), np.zeros(len(features), np.bool_))


class Overheard:
    """An exit, and when its answers to the newest batch could be on the event loop."""

    def __init__(self, exit_: Exit) -> None:
        self._exit, self._loop = exit_, asyncio.get_running_loop()
        self.out_s = math.inf

    def look(self, features: Array) -> ExitAnswers:
        """See ``Exit``."""
        found = self._exit.look(features)
        self._loop.call_soon_threadsafe(self._out)
        return found

    def _out(self) -> None:
        self.out_s = time.perf_counter()


@dataclass(frozen=True)
class Served:
    """The network in the backend, whole and cut, and the ways through it."""

    backend: Backend
    cut: str
    """The name of the network with cuts."""
    exits: Sequence[Overheard]
    """By cut."""
    policies: Mapping[str, RowPolicy]
    """By way of which the network is cut."""
    door: Door
    held: RowPolicy
    """The way through the door."""

    async def turn(self, way: str, items: Array) -> Turn:
        """Look at these items; where there are several, they wait behind the door and become one batch."""
        before = await self._at_the_door(items[:1]) if len(items) > 1 else None
        looks = [asyncio.create_task(self._look(way, item[None])) for item in items]
        if before is not None:
            await asyncio.sleep(0)  # they are asked for now
            self.door.open.set()
            await before
        began_s, used_s = time.perf_counter(), time.process_time()
        found = await asyncio.gather(*looks)
        took_s = time.process_time() - used_s
        return Turn([look._replace(latency_s=look.latency_s - began_s) for look in found], took_s)

    async def _at_the_door(self, item: Array) -> asyncio.Task[list[Array]]:
        """A request that occupies the device."""
        self.door.open.clear()
        self.door.reached.clear()
        before = asyncio.create_task(self.backend.infer(self.cut, item, NO_HASTE, policy=self.held))
        await asyncio.to_thread(self.door.reached.wait)
        return before

    async def _look(self, way: str, item: Array) -> Look:
        """Its latency counts from the beginning of the clock."""
        policy = self.policies.get(way)
        outputs = await self.backend.infer(LARGE if policy is None else self.cut, item, NO_HASTE, policy=policy)
        end_s = time.perf_counter()
        if policy is None:
            return Look(end_s, int(outputs[0].argmax()), False)
        found = ExitResult.of(outputs)
        place = int(found.place[0])
        if place == len(self.exits):
            return Look(end_s, int(found.scores.argmax()), False)
        return Look(self.exits[place].out_s, int(found.distribution.argmax()), True)


def measure(quick: bool) -> Outcome:
    """A row for each target, number of requests in a batch, and way."""
    with threadpool_limits(1, user_api="blas"), tempfile.TemporaryDirectory() as folder:  # one thread, as in a worker
        case = next(cases(QUICK if quick else None))
        cifar = Cifar.written(Path(folder), case.learnt[:1])
        lessons = Lessons(cifar, case.learnt)
        made = {target: lessons.learnt(target) for target in TARGETS}
        rows = [
            row
            for target, exits in made.items()
            if exits is not None
            for row in asyncio.run(_rows(Catalogue([Path(folder)]), case, target, exits.artefact, quick))
        ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By target and requests in a batch: each way's median and 99th percentile over those of the whole network."""
    found: dict[str, Any] = {}
    for row in rows:
        whole = next(each for each in rows if _setting(each) == _setting(row) and each["way"] == "whole")
        if row is not whole:
            ratios = [round(row[key] / whole[key], 3) for key in ("median_ms", "p99_ms", "processor_ms")]
            found.setdefault(f"{row['target']:g} × {row['requests']}", {})[row["way"]] = ratios
    return found


def _setting(row: Row) -> tuple[float, int]:
    return row["target"], row["requests"]


async def _rows(known: Catalogue, case: Case, target: float, built: ExitArtefact, quick: bool) -> list[Row]:
    backend, door = Backend(known, bounds=NetworkBounds(threads=1)), Door()
    overheard = [Overheard(each) for each in built.exits]
    exits = ExitSet(dict(zip(built.tensors, overheard, strict=True)), built.card.vocabulary.labels)
    policies = {"compaction": RowPolicy(exits), "release": RowPolicy(exits, np.zeros(1, np.bool_))}
    held = RowPolicy(ExitSet({built.tensors[-1]: door}, 1))
    served = Served(backend, backend.add_cuts(LARGE, built.tensors), overheard, policies, door, held)
    await backend.start()
    try:
        turns = QUICK_TURNS if quick else TURNS
        return [row for count in SHARING for row in await _shared(served, case.unseen, target, count, turns[count])]
    finally:
        await backend.stop()


async def _shared(served: Served, items: Array, target: float, count: int, turns: int) -> list[Row]:
    """The rows for so many requests in a batch."""
    order, found = random.Random(count), {way: list[Turn]() for way in WAYS}
    for place in range(turns + UNCOUNTED):
        batch = np.take(items, range(place * count, (place + 1) * count), axis=0, mode="wrap")
        for way in order.sample(WAYS, len(WAYS)):
            found[way].append(await served.turn(way, batch))
    whole = _looks(found["whole"])
    return [
        {"target": target, "requests": count, "way": way, **_figures(_looks(made), whole), **_processor(made)}
        for way, made in found.items()
    ]


def _looks(turns: Sequence[Turn]) -> list[Look]:
    return [look for turn in turns[UNCOUNTED:] for look in turn.looks]


def _figures(looks: Sequence[Look], whole: Sequence[Look]) -> dict[str, Any]:
    """``through_ratio``: the median, over looks that no exit answers, of latency over the whole's at that image."""
    latencies = np.array([look.latency_s for look in looks]) * 1e3
    shares = zip(("median_ms", "p95_ms", "p99_ms"), np.percentile(latencies, (50, 95, 99)), strict=True)
    agreement = mean(mine.answer == other.answer for mine, other in zip(looks, whole, strict=True))
    early = mean(look.early for look in looks)
    through = [mine.latency_s / other.latency_s for mine, other in zip(looks, whole, strict=True) if not mine.early]
    counted = {"looks": len(looks), "answered_by_exits": round(early, 4), "agreement": round(agreement, 4)}
    figures = {name: round(float(share), 3) for name, share in shares}
    return {**counted, **figures, "through_ratio": round(median(through), 3) if through else None}


def _processor(turns: Sequence[Turn]) -> dict[str, float]:
    """Processor time of the whole process for one look."""
    return {"processor_ms": round(1e3 * mean(turn.processor_s / len(turn.looks) for turn in turns[UNCOUNTED:]), 3)}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    settings = list(dict.fromkeys(map(_setting, rows)))
    for place, axes in enumerate(figure.subplots(1, len(settings), sharey=False)):
        mine = [row for row in rows if _setting(row) == settings[place]]
        target, requests = settings[place]
        for shift, row in enumerate(mine):
            values = [row[key] for key in ("median_ms", "p95_ms", "p99_ms", "processor_ms")]
            axes.bar(np.arange(4) + 0.28 * (shift - 1), values, 0.26, label=row["way"])
        axes.set_xticks(range(4), ["median", "95 %", "99 %", "processor"], rotation=45)
        axes.set(title=f"{target:g}, {requests} in a batch", ylabel="ms")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=len(WAYS))


if __name__ == "__main__":
    run("released", measure, __doc__ or "")
