"""Learned caches on streams whose dominant classes change: built once, against trained anew (GATI, §7.2).

ResNet-18 looks at CIFAR-10 test images. A stream draws classes from a distribution that changes twice, at once or step
by step. In each of its windows some images are samples for training, as many as workers send, others are measured, and
2,000 are the validation set; no image is ever two of these. The ways:

``static``         caches are trained after the first phase, and stay
``adapted``        and anew after every second window since, on samples of the last hour and on the validation set
``samples alone``  the same without the validation set

Caches are exchanged where new ones are worth more on samples that are held back: by the window, the kind and the rule
of an adaptation worker, but that every image counts as one sample, since none shows the same object as another.
Measuring begins after the first phase. New caches answer at once here; in a worker they first prove themselves while
the oracle answers. An audit looks on: ``low`` and ``high`` are what it publishes of the caches' answers, ``truth`` how
many of all that it speaks of are right, each weighted by how probably it was drawn. For one stream the time between two
trainings, and the samples of a second, are varied (Figure 10b).

What a look costs is the measured processor time of single images that leave at each place, on one thread, by turns. The
network is cut at all places as long as it has caches; only where there is one is it asked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from benchmarks.caches_locality_parts.images import Images, images
from benchmarks.caches_locality_parts.plot import draw
from benchmarks.caches_locality_parts.streams import SWEPT, Stream, streams
from benchmarks.caches_locality_parts.ways import ADAPTED, INTERVALS, RATES, WAYS, Way, follow
from benchmarks.harness import Outcome, Row, run

IMAGES, QUICK_IMAGES = 10_000, 600


def measure(quick: bool) -> Outcome:
    """All streams in all ways."""
    shown = images(QUICK_IMAGES if quick else IMAGES)
    chosen = streams(default_rng(1))[: 1 if quick else None]
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for stream, way in _runs(chosen) for row in _followed(stream, way, shown, Path(folder))]
    return Outcome(rows, headline(rows), partial(draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """The speed of adapted caches on the best and the worst stream, their least agreement, and how often an interval
    holds the truth; then by stream and way: speed, agreement of all looks, and of the caches' answers. ``alike``: ways
    that answered the same in every window, since nothing was exchanged: they are one measurement, not several."""
    ways: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        name = row["way"] if _is_base(row) else f"{row['interval_min']} min, {row['samples_per_s']:g}/s"
        ways.setdefault(row["stream"], {}).setdefault(name, []).append(row)
    found = {stream: {way: _summed(some) for way, some in each.items()} for stream, each in ways.items()}
    adapted = [each[ADAPTED.name] for each in found.values()]
    intervals = [row for row in rows if row["truth"] != ""]
    covered = sum(row["low"] <= row["truth"] <= row["high"] for row in intervals) / max(len(intervals), 1)
    return {
        "best": max(each["speedup"] for each in adapted),
        "worst": min(each["speedup"] for each in adapted),
        "agreement_least": min(each["agreement"] for each in adapted),
        "covered": round(covered, 4),
        "alike": {stream: groups for stream, each in ways.items() if (groups := _alike(each))},
        "streams": found,
    }


def _runs(chosen: Sequence[Stream]) -> Iterator[tuple[Stream, Way]]:
    for stream in chosen:
        varied = [*INTERVALS.values(), *RATES.values()] if stream.name == SWEPT else []
        yield from ((stream, way) for way in dict.fromkeys([*WAYS, *varied]))


def _followed(stream: Stream, way: Way, shown: Images, folder: Path) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        return list(follow(stream, way, shown, Path(scratch)))


def _is_base(row: Row) -> bool:
    base = next(minutes for minutes, way in INTERVALS.items() if way == ADAPTED)
    return bool(row["interval_min"] == base and row["samples_per_s"] == ADAPTED.per_s)


def _alike(ways: Mapping[str, Sequence[Row]]) -> list[list[str]]:
    """Groups of ways with the same answers throughout."""
    groups: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for way, rows in ways.items():
        groups.setdefault(tuple((row["answered"], row["right"]) for row in rows), []).append(way)
    return [group for group in groups.values() if len(group) > 1]


def _summed(rows: Sequence[Row]) -> dict[str, float]:
    looks, given = sum(row["looks"] for row in rows), sum(row["answered"] for row in rows)
    wrong = sum(row["answered"] - row["right"] for row in rows)
    return {
        "speedup": round(sum(row["whole_ms"] for row in rows) / sum(row["processor_ms"] for row in rows), 3),
        "agreement": round(1 - wrong / looks, 4),
        "of_answers": round(1 - wrong / max(given, 1), 4),
        "hits": round(given / looks, 3),
    }


if __name__ == "__main__":
    run("caches_locality", measure, __doc__ or "")
