"""Three ways to balance calls over four backends (Shen, 2019, §3.5.3 and Table 3.6), in virtual time.

SSD within 200, 400 and 600 ms: throughput is the rate at which 99 % of the requests are in time, as they come evenly.
How long a batch takes follows from the table: its centralized rates are those of four backends that run full batches.

*Centralized*: all requests wait in one queue, from which each backend that is free takes its batch. *Two choices*: the
less busy of two, by ``serving/remote/client/pick.py``, once with queues as they were up to 10 ms ago, as in the paper,
once with what a client of ours knows: its own calls in flight and the queue that each answer told. *Random*: any one.
Batches are the paper's sliding windows of the table's size, or the product's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.batching_parts.simulation import Ask
from benchmarks.placement_parts.replay import Line
from datasets.request_times import uniform
from serving.placement.demands import BatchProfile
from serving.remote.client.pick import pick

TABLE_3_6 = {
    (0.2, 3): {"centralized": 142, "two choices": 123, "random": 109},
    (0.4, 7): {"centralized": 191, "two choices": 190, "random": 171},
    (0.6, 11): {"centralized": 204, "two choices": 204, "random": 194},
}
"""Requests a second, by SLO and batch."""
BACKENDS = 4
CACHED_S = 0.01
IN_TIME = 0.99
HALVINGS = 9
WAYS = ("centralized", "two choices", "two choices, own calls", "random")
BATCHES = ("sliding window", "look ahead")
COLOURS = dict(zip(WAYS, ("#333", "#48c", "#2a7", "#bbb"), strict=True))


def ssd() -> BatchProfile:
    """The table's batches, and single items on the line through the first two."""
    found = {batch: batch * BACKENDS / rates["centralized"] for (_, batch), rates in TABLE_3_6.items()}
    found[1] = found[3] - (found[7] - found[3]) / 2
    return BatchProfile(found, 0)


@dataclass(eq=False)
class Server:
    """A backend, or several that share a queue."""

    line: Line
    free_at: list[float] = field(default_factory=lambda: [0.0])
    running: list[tuple[float, int]] = field(default_factory=list)
    """When batches end, and their requests."""
    said: int = 0
    """The queue, as the last answer told."""
    cached: tuple[float, int] = (-inf, 0)

    def until(self, now: float) -> None:
        """Run all batches that begin up to now."""
        while self.line.waiting and min(self.free_at) <= now:
            place = min(range(len(self.free_at)), key=self.free_at.__getitem__)
            start, before = max(self.free_at[place], self.line.waiting[0].arrived), len(self.line.waiting)
            self._hear(start)
            self.free_at[place] = self.line.run(start, self.line.max_batch)
            self.running.append((self.free_at[place], before - len(self.line.waiting)))
        self._hear(now)

    def _hear(self, now: float) -> None:
        if any(end <= now for end, _ in self.running):
            self.running = [each for each in self.running if each[0] > now]
            self.said = len(self.line.waiting)

    def queue(self, now: float) -> int:
        """As it was at most 10 ms ago."""
        if now - self.cached[0] >= CACHED_S:
            self.cached = (now, len(self.line.waiting))
        return self.cached[1]

    @property
    def in_flight(self) -> int:
        return len(self.line.waiting) + sum(requests for _, requests in self.running)


Choose = Callable[[Sequence[Server], float, Random], int]


def _by_cache(servers: Sequence[Server], now: float, rng: Random) -> int:
    return pick([each.queue(now) for each in servers], rng)


def _by_own_calls(servers: Sequence[Server], now: float, rng: Random) -> int:
    return pick([each.in_flight + each.said for each in servers], rng)


def _any(servers: Sequence[Server], now: float, rng: Random) -> int:
    return rng.randrange(len(servers))


CHOOSE: dict[str, Choose] = {
    "centralized": lambda servers, now, rng: 0,
    "two choices": _by_cache,
    "two choices, own calls": _by_own_calls,
    "random": _any,
}


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    slo_s: float
    batch: int
    way: str
    batches: str

    def servers(self) -> list[Server]:
        window = self.batch if self.batches == "sliding window" else 0
        if self.way == "centralized":
            return [Server(Line.of(ssd(), window), [0.0] * BACKENDS)]
        return [Server(Line.of(ssd(), window)) for _ in range(BACKENDS)]


def in_time(case: Case, rate: float, seconds: float, seed: int) -> float:
    """The share of the requests that is answered in time."""
    servers, rng = case.servers(), Random(seed)
    times = [*uniform(rate, seconds)]
    for now in times:
        for server in servers:
            server.until(now)
        servers[CHOOSE[case.way](servers, now, rng)].line.add(Ask(now, now + case.slo_s))
    for server in servers:
        server.until(inf)
    return sum(server.line.served for server in servers) / len(times)


def throughput(case: Case, seconds: float, seed: int) -> float:
    """Requests a second, by halving."""
    low, high = 40.0, 300.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if in_time(case, middle, seconds, seed) >= IN_TIME else (low, middle)
    return low


def measure(quick: bool) -> harness.Outcome:
    """All rows of the table, with both kinds of batches."""
    seconds, seeds = (20.0, 1) if quick else (60.0, 5)
    rows = [row for batches in BATCHES for row in _rows(batches, seconds, seeds)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def _rows(batches: str, seconds: float, seeds: int) -> Iterator[harness.Row]:
    for (slo_s, batch), paper in TABLE_3_6.items():
        found = {
            way: fmean(throughput(Case(slo_s, batch, way, batches), seconds, seed) for seed in range(seeds))
            for way in WAYS
        }
        for way in WAYS:
            said = paper.get(way)
            yield {
                "batches": batches,
                "slo_ms": round(1000 * slo_s),
                "batch": batch,
                "way": way,
                "seeds": seeds,
                "requests_per_s": round(found[way], 1),
                "relative_percent": round(100 * found[way] / found["centralized"], 1),
                "paper_per_s": said if said else "",
                "paper_relative_percent": round(100 * said / paper["centralized"], 1) if said else "",
            }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Relative throughput, as the table gives it, for the three SLOs."""
    return {
        batches: {
            way: [row["relative_percent"] for row in rows if (row["batches"], row["way"]) == (batches, way)]
            for way in WAYS[1:]
        }
        for batches in BATCHES
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    for axes, batches in zip(figure.subplots(1, len(BATCHES), sharey=True), BATCHES, strict=True):
        for place, way in enumerate(WAYS):
            mine = [row for row in rows if (row["batches"], row["way"]) == (batches, way)]
            at = [number + 0.2 * (place - 1.5) for number in range(len(mine))]
            axes.bar(at, [row["requests_per_s"] for row in mine], 0.18, color=COLOURS[way], label=way)
            paper = [(x, row["paper_per_s"]) for x, row in zip(at, mine, strict=True) if row["paper_per_s"] != ""]
            label = "the paper's" if place == 0 else None
            axes.plot(*zip(*paper, strict=True), "x", color="#c33", ms=5, label=label) if paper else None
        axes.set_xticks(range(len(TABLE_3_6)), [f"{1000 * slo_s:.0f} ms, batch {batch}" for slo_s, batch in TABLE_3_6])
        axes.set_title(f"{batches}: requests/s with 99 % in time", fontsize=8)
        axes.tick_params(labelsize=6)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("balance", measure, __doc__ or "")
