"""Variants of changing size in a cache of 600 MB, against models of one size (Shen, 2019, §4.4.2 and Figure 4.11).

A device is asked once a second for ten hours for one of a number of tasks, whose networks do not fit in its memory
together: what is not there has to be loaded, which takes 3.5 times the energy of running it (the paper: 2 to 5 times).
Its energy pays for half of the requests by the unoptimised networks. *Original* and *best* keep networks of one size,
the least recently used gives way; best is a tenth of the size at 4 points less accuracy (§4.3.1). *All variants* is
Algorithm 4.1 with the product's share of a request, which counts what reloading costs, and its choice: on a miss a
variant that loads fast is taken (Lines 24-25), at the next use the most accurate that the share pays. Catalogues are
drawn after what the paper says of its own: sizes of its tasks, a gentle fall of accuracy, a gentler one of energy.

``load_mb_s`` is the paper's load rate: the misses of the unoptimised networks, weighted by their size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.budgets_parts.offers import Offer, choose
from serving.budgets.frequency import Frequency
from serving.budgets.shares import Requester, per_request

CACHE_MB, REQUESTS = 600.0, 36_000
TASKS, TRACES = (1, 2, 4, 8, 16, 32, 64), range(10)
QUICK_TASKS, QUICK_REQUESTS = (2, 8), 2000
SIZES_MB = (528.0, 233.0, 233.0, 233.0, 233.0, 233.0, 440.0, 440.0, 440.0, 440.0)
"""Sizes of VGGNet, five AlexNets and four DeepFaceNets (Table 4.1), 4 bytes a weight."""
SHARES = ((1.0, 0.0), (1 / 3, 0.01), (1 / 10, 0.04), (1 / 30, 0.08), (1 / 100, 0.14))
"""Shares of the size, and the accuracy that is lost."""
ORIGINAL, BEST = 0, 2
ACCURACY, RUN_J, FALL, LOADING = 0.69, 1.0, 0.25, 3.5
"""The unoptimised networks; energy goes with the size to the power of ``FALL``, loading takes so many times that."""
FAST_MB = 60.0
"""What loads while a request waits."""
ENERGY = 0.5


@dataclass(frozen=True, slots=True)
class Sized:
    """A variant of the network of a task."""

    place: int
    size_mb: float
    accuracy: float
    run_j: float

    @property
    def load_j(self) -> float:
        return LOADING * self.run_j


Catalogue = Sequence[Sized]
"""The variants of one task, the largest first."""


@dataclass
class Device:
    """Its memory, its energy, and what it has done."""

    left_j: float
    served: int = 0
    accuracy: float = 0.0
    missed_mb: float = 0.0

    def __post_init__(self) -> None:
        self.there = OrderedDict[int, tuple[Sized, float]]()
        """By task: the variant, and since when; the least recently used first."""
        self.spent_j = 0.0

    def run(self, task: int, variant: Sized) -> bool:
        """Answer a request with what is there; False where the energy does not suffice."""
        if not self._pay(variant.run_j):
            return False
        self.served, self.accuracy = self.served + 1, self.accuracy + variant.accuracy
        self.there.move_to_end(task)
        return True

    def load(self, task: int, variant: Sized, now_s: float) -> bool:
        """Load a variant in place of what is there of the task, and of what was used least recently."""
        if not self._pay(variant.load_j):
            return False
        self.there.pop(task, None)
        while self.there and self.held_mb + variant.size_mb > CACHE_MB:
            self.there.popitem(last=False)
        self.there[task] = variant, now_s
        return True

    @property
    def held_mb(self) -> float:
        return sum(variant.size_mb for variant, _ in self.there.values())

    def _pay(self, joules: float) -> bool:
        if joules > self.left_j:
            return False
        self.left_j, self.spent_j = self.left_j - joules, self.spent_j + joules
        return True


def catalogues(tasks: int, rng: Random) -> list[Catalogue]:
    """Those of so many tasks, each like one of the paper's."""
    found = list[Catalogue]()
    for size_mb in (rng.choice(SIZES_MB) for _ in range(tasks)):
        run_j = RUN_J * (size_mb / SIZES_MB[0]) ** 0.5
        found.append([
            Sized(place, size_mb * share, ACCURACY - lost, run_j * share**FALL)
            for place, (share, lost) in enumerate(SHARES)
        ])  # fmt: skip
    return found


def fixed(place: int, known: Sequence[Catalogue], asked: Sequence[int], energy_j: float) -> Device:
    """One size for all: the paper's straw men."""
    device = Device(energy_j)
    for now_s, task in enumerate(asked):
        variant = known[task][place]
        if task not in device.there:
            device.missed_mb += variant.size_mb
            if not device.load(task, variant, now_s):
                continue
        device.run(task, variant)
    return device


def dynamic(known: Sequence[Catalogue], asked: Sequence[int], energy_j: float) -> Device:
    """Algorithm 4.1."""
    device, often = Device(energy_j), dict[int, Frequency]()
    for second, task in enumerate(asked):
        now_s = float(second)
        often.setdefault(task, Frequency(now_s)).asked(now_s)
        share_j = _share(device, known, often, task, now_s, len(asked))
        there = device.there.get(task)
        if there is None:
            fast = [each for each in known[task] if each.size_mb <= FAST_MB]
            wanted = _affordable(fast, share_j)
            device.missed_mb += wanted.size_mb
            if device.load(task, wanted, now_s):
                device.run(task, wanted)
            continue
        wanted = _affordable(known[task], share_j)
        if device.run(task, there[0]) and wanted is not there[0]:
            device.load(task, wanted, now_s)
    return device


def _share(
    device: Device, known: Sequence[Catalogue], often: Mapping[int, Frequency], task: int, now_s: float, until_s: float
) -> float:
    """Line 18, over the tasks that are in memory."""
    there = device.there.get(task)
    loaded = {} if there is None else {"load_cost": there[0].load_j, "loaded_s": max(now_s - there[1], 1.0)}
    others = [Requester(often[each].at(now_s)) for each in device.there if each != task]
    return per_request(device.left_j, until_s - now_s, Requester(often[task].at(now_s), **loaded), others)


def _affordable(variants: Catalogue, share_j: float) -> Sized:
    """The most accurate that a share pays; else the smallest."""
    offers = [Offer(str(each.place), "", each.accuracy, {"energy": each.run_j}) for each in variants]
    chosen = choose(offers, {"energy": share_j})
    return variants[-1] if chosen is None else variants[[each.variant for each in offers].index(chosen.variant)]


Way = Callable[[Sequence[Catalogue], Sequence[int], float], Device]
WAYS: Mapping[str, Way] = {"original": partial(fixed, ORIGINAL), "best": partial(fixed, BEST), "all variants": dynamic}
COLOURS = {"original": "#888", "best": "#c63", "all variants": "#2a7"}


def measure(quick: bool) -> harness.Outcome:
    """All ways on the same traces."""
    requests = QUICK_REQUESTS if quick else REQUESTS
    rows = [row for tasks in (QUICK_TASKS if quick else TASKS) for row in _rows(tasks, requests)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By way, at the least and the most load: the share that is served, its accuracy, and the energy of a request."""
    columns = ("served", "accuracy", "joules")
    return {
        way: [[row[name] for name in columns] for row in (mine[0], mine[-1])]
        for way in WAYS
        if (mine := [row for row in rows if row["way"] == way])
    }


def _rows(tasks: int, requests: int) -> list[harness.Row]:
    found = dict[str, list[Device]]()
    for seed in TRACES:
        rng = Random(f"{tasks} {seed}")
        known = catalogues(tasks, rng)
        asked = rng.choices(range(tasks), k=requests)
        energy_j = ENERGY * sum(known[task][ORIGINAL].run_j for task in asked)
        for way, decide in WAYS.items():
            found.setdefault(way, []).append(decide(known, asked, energy_j))
    load_mb_s = fmean(device.missed_mb for device in found["original"]) / requests
    return [
        {
            "way": way,
            "tasks": tasks,
            "load_mb_s": round(load_mb_s, 1),
            "served": round(fmean(each.served for each in devices) / requests, 4),
            "accuracy": round(fmean(each.accuracy / max(each.served, 1) for each in devices), 4),
            "joules": round(fmean(each.spent_j / max(each.served, 1) for each in devices), 4),
        }
        for way, devices in found.items()
    ]


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    told = {"served": "requests served", "joules": "energy of one that is served", "accuracy": "accuracy of these"}
    for (column, title), axes in zip(told.items(), figure.subplots(1, len(told)), strict=True):
        for way, colour in COLOURS.items():
            mine = [row for row in rows if row["way"] == way]
            axes.plot([row["tasks"] for row in mine], [row[column] for row in mine], color=colour, label=way)
        axes.set_title(title, fontsize=8)
        axes.set_xlabel("tasks that share 600 MB", fontsize=7)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
    figure.axes[0].legend(fontsize=6)


if __name__ == "__main__":
    harness.run("variant_cache", measure, __doc__ or "")
