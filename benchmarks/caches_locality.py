"""Exits on streams whose dominant classes change (GATI, §7.2): learnt before, made in service, or both.

ResNet-18 looks at CIFAR-10 test images, one a second. A stream draws classes from a distribution that changes twice, at
once or step by step; an image comes again only when all others of its class have come. The node's own operator answers,
with the accuracy that a query has by default, on a network whose outputs were recorded: it takes samples, has exits
made, tunes them, proves and audits them. Only the maker is quicker than in a run: exits are there as soon as they are
due, and nothing is bounded by the budget. The ways:

``learnt before``            exits from a recording of the classes of the first phase, which stay
``learnt before, made anew`` the same, and ``caches: true``: exits of all looks are made in service
``made in service``          ``caches: true`` alone
``specialised``              ``specialize: true`` alone: WEG says when exits are made, and for which classes

What a look costs is the measured processor time of single images that leave at each exit, on one thread, by turns.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import default_rng
from threadpoolctl import threadpool_limits

from benchmarks.caches_locality_parts.images import images
from benchmarks.caches_locality_parts.plot import draw
from benchmarks.caches_locality_parts.streams import WINDOWS, streams
from benchmarks.caches_locality_parts.ways import STATIC, WAYS, follow
from benchmarks.harness import Outcome, Row, run

IMAGES, QUICK_IMAGES = 10_000, 500


def measure(quick: bool) -> Outcome:
    """All streams in all ways; ``quick``: one each, and few images, which come again and again."""
    with threadpool_limits(1, user_api="blas"), tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        os.environ["SLUICE_CACHE"] = str(Path(folder) / "cache")
        shown = images(QUICK_IMAGES if quick else IMAGES, Path(folder) / "models")
        chosen = streams(default_rng(1))[: 1 if quick else None]
        ways = (STATIC,) if quick else WAYS
        rows = [row for stream in chosen for way in ways for row in follow(stream, way, shown)]
    return Outcome(rows, headline(rows), partial(draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """By stream and way: speed, share that exits answered, agreement of all looks and of the exits' answers.

    Of all windows, and of those after the first phase.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(row["stream"], {}).setdefault(row["way"], []).append(row)
    return {
        stream: {
            way: {"all": summed(some), "later": summed([row for row in some if row["window"] >= WINDOWS])}
            for way, some in each.items()
        }
        for stream, each in found.items()
    }


def summed(rows: Sequence[Row]) -> Mapping[str, float]:
    """Several windows as one."""
    looks, given = sum(row["looks"] for row in rows), sum(row["answered"] for row in rows)
    wrong = sum(row["answered"] - row["right"] for row in rows)
    return {
        "speedup": round(sum(row["whole_ms"] for row in rows) / sum(row["processor_ms"] for row in rows), 3),
        "answered": round(given / looks, 3),
        "agreement": round(1 - wrong / looks, 4),
        "of_answers": round(1 - wrong / max(given, 1), 4),
    }


if __name__ == "__main__":
    run("caches_locality", measure, __doc__ or "")
