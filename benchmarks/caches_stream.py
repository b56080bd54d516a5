"""What learned caches spare on a live stream that teaches them: CIFAR-10 test images, one after the other.

A user's ResNet-18 classifies a stream of 18,000 pictures, ten a second, as ``sluice run`` does it with ``caches: true``
and with ``caches: false``, at the ``accuracy`` that a query has by default; at the same time, each in a process of its
own. Nothing is learnt beforehand: the node takes samples, has caches made, tunes them, has them prove themselves, and
pays for all of it from its budget. ``2_90``: two classes make up 90 % of the pictures.

There is a row for every 2,000 pictures. ``cpu_s`` is processor time of a whole process: ``part_`` for the pictures of
the row, as far as results had come by then, otherwise for the whole stream, start included, the same in all rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.run_parts.watched import Asked, together
from benchmarks.weg_parts.cifar_models import CLASSES, LARGE, Pictures, write_models
from datasets.streams import Phase, generate

SEED = 1
ACCURACY = 0.9
PART, QUICK = 2_000, 200
ORACLE, CACHES = "oracle", "caches"
WAYS = (ORACLE, CACHES)
STREAMS: Mapping[str, Phase] = {"2_90": Phase(18_000, 2, 0.9)}


def measure(quick: bool) -> harness.Outcome:
    """All streams with caches and without; quick: the beginning of one."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        place = Path(folder)
        pictures = Pictures(SEED)
        write_models(place / "models", pictures.names)
        rows = [row for name in list(STREAMS)[: 1 if quick else None] for row in _rows(place, pictures, name, quick)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """By stream: processor time of the oracle alone over that with caches, and agreement of all answers."""
    streams = {row["stream"]: [each for each in rows if each["stream"] == row["stream"]] for row in rows}
    return {
        "cpu_speedup": {name: some[0]["cpu_speedup"] for name, some in streams.items()},
        "agreement": {
            name: round(
                sum(row["agreement"] * row["pictures"] for row in some) / sum(row["pictures"] for row in some), 4
            )
            for name, some in streams.items()
        },
    }


def _rows(place: Path, pictures: Pictures, name: str, quick: bool) -> Iterator[harness.Row]:
    labels = generate(np.random.default_rng((SEED, *name.encode())), CLASSES, [STREAMS[name]]).labels
    pictures.write_stream(place / "streams" / name, labels[:QUICK] if quick else labels, SEED)
    runs = together({way: _asked(place, name, way) for way in WAYS})
    oracle, cached = (runs[way] for way in WAYS)
    costs = {
        "oracle_cpu_s": round(oracle.cpu_s, 2),
        "cpu_s": round(cached.cpu_s, 2),
        "cpu_speedup": round(oracle.cpu_s / cached.cpu_s, 3),
    }
    pairs = list(zip(map(_answer, oracle.lines), map(_answer, cached.lines), strict=True))
    for start in range(0, len(pairs), PART):
        part = pairs[start : start + PART]
        spent_s = [each.cpu_until(start + len(part)) - each.cpu_until(start) for each in (oracle, cached)]
        yield {
            "stream": name,
            "from_picture": start,
            "pictures": len(part),
            "by_caches": round(sum(ours["provenance"] == "cached" for _, ours in part) / len(part), 4),
            "agreement": round(sum(one["label"] == ours["label"] for one, ours in part) / len(part), 4),
            "part_speedup": round(spent_s[0] / spent_s[1], 3),
            **costs,
        }


def _asked(place: Path, name: str, way: str) -> Asked:
    node = {"name": "kind", "task": "recognise", "input": "frame", "model": LARGE, "answer": "look"}
    query = {
        "version": 1,
        "name": "caches-stream",
        "slo_ms": 60_000,
        "accuracy": ACCURACY,
        "streams": [{"id": name, "uri": str(place / "streams" / name)}],
        "nodes": [{**node, "specialize": False, "caches": way == CACHES}],
    }
    return Asked(place / f"{name}-{way}", query, [place / "models"])


def _answer(line: Mapping[str, Any]) -> Mapping[str, Any]:
    (attribute,) = line["objects"][0]["attributes"]
    found: Mapping[str, Any] = attribute
    return found


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True)
    for name in dict.fromkeys(row["stream"] for row in rows):
        some = [row for row in rows if row["stream"] == name]
        at = [row["from_picture"] + row["pictures"] / 2 for row in some]
        label = f"{name}: whole stream {some[0]['cpu_speedup']:.2f} times less processor time"
        upper.plot(at, [row["by_caches"] for row in some], marker=".", label=label)
        lower.plot(at, [row["agreement"] for row in some], marker=".", label=name)
    upper.set(ylabel="answered by caches", title="sluice run on CIFAR-10 streams, caches from their own looks")
    upper.legend(fontsize=8)
    lower.axhline(ACCURACY, color="grey", linewidth=0.8)
    lower.set(ylabel="agreement with the oracle", xlabel="picture", ylim=(0.85, 1.01))


if __name__ == "__main__":
    harness.run("caches_stream", measure, __doc__ or "")
