"""What specialization spares where the oracle is good and every picture is another object: CIFAR-10 as streams.

A user's two networks, ResNet-18 and ResNet-20, become models. ``sluice run`` classifies streams of pictures, ten a
second, with ``specialize: true`` and with ``specialize: false``, at the ``accuracy`` that a query has by default.
Nothing is learnt beforehand. Both runs of a stream go on at the same time, each in a process of its own, so that
whatever else the machine does is met by both:

``5_90``, ``2_90``  five classes make up 90 % of ten minutes, or two of two and a half
``5_90_long``       five classes make up 90 % of twenty minutes, other pictures than those of ten
``random``          all classes are equally frequent
``short``           half a minute of such a stream as 5_90: exits have no time to pay
``small``           the same for longer, with ResNet-20 as the oracle, in which exits could hardly spare anything

``cpu_s`` is the processor time of the whole process, with decoding, training and audits; ``node_speedup`` is
that of the node by its own account.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.run_parts.watched import Asked, Watched, together
from benchmarks.weg_parts.cifar_models import CLASSES, LARGE, SMALL, Pictures, write_models
from datasets.streams import Phase, generate

SEED = 1
QUICK = 60
EXITS, ORACLE = "exits", "oracle"
WAYS = (EXITS, ORACLE)
ACCURACY = 0.9
STREAMS: Mapping[str, tuple[Phase, str]] = {
    "5_90": (Phase(6_000, 5, 0.9), LARGE),
    "5_90_long": (Phase(12_000, 5, 0.9), LARGE),
    "2_90": (Phase(1_500, 2, 0.9), LARGE),
    "random": (Phase(600), LARGE),
    "short": (Phase(300, 5, 0.9), LARGE),
    "small": (Phase(600, 5, 0.9), SMALL),
}


def measure(quick: bool) -> harness.Outcome:
    """All streams in both modes; quick: the short one, and few pictures of it."""
    names = ["short"] if quick else list(STREAMS)
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        place = Path(folder)
        pictures = Pictures(SEED)
        write_models(place / "models", pictures.names)
        truth = {name: _stream(place, pictures, name, quick) for name in names}
        rows = [_row(name, _runs(place, name), truth[name]) for name in names]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Processor time of the oracle alone over ours, and agreement, by stream."""
    return {key: {row["stream"]: row[key] for row in rows} for key in ("cpu_speedup", "agreement", "accuracy_diff")}


def _stream(place: Path, pictures: Pictures, name: str, quick: bool) -> list[str]:
    phase, _ = STREAMS[name]
    labels = generate(np.random.default_rng((SEED, *name.encode())), CLASSES, [phase]).labels
    return pictures.write_stream(place / "streams" / name, labels[:QUICK] if quick else labels, SEED)


def _runs(place: Path, name: str) -> Mapping[str, Watched]:
    """With exits and by the oracle alone, at the same time."""
    return together({way: _asked(place, name, way) for way in WAYS})


def _asked(place: Path, name: str, way: str) -> Asked:
    _, model = STREAMS[name]
    node = {"name": "kind", "task": "recognise", "input": "frame", "model": model, "answer": "look"}
    query = {
        "version": 1,
        "name": "weg-cifar",
        "slo_ms": 60_000,
        "accuracy": ACCURACY,
        "streams": [{"id": name, "uri": str(place / "streams" / name)}],
        "nodes": [{**node, "caches": False, "specialize": way == EXITS}],
    }
    return Asked(place / f"{name}-{way}", query, [place / "models"])


def _row(name: str, runs: Mapping[str, Watched], truth: Sequence[str]) -> harness.Row:
    oracle, ours = runs[ORACLE], runs[EXITS]
    said, others = _said(ours), _said(oracle)
    done: Mapping[str, Any] = next(iter(ours.report["specialization"]), {})
    account = done.get("processor_s") or {}
    count = len(truth)
    return {
        "stream": name,
        "oracle": STREAMS[name][1],
        "pictures": count,
        "oracle_cpu_s": round(oracle.cpu_s, 2),
        "cpu_s": round(ours.cpu_s, 2),
        "cpu_speedup": round(oracle.cpu_s / ours.cpu_s, 3),
        "agreement": round(_equal(said, others) / count, 4),
        "oracle_accuracy": round(_equal(others, truth) / count, 4),
        "accuracy_diff": round((_equal(said, truth) - _equal(others, truth)) / count, 4),
        "by_exits": round(done.get("head", 0) / count, 4),
        "audits": done.get("audits", ""),
        "node_speedup": done.get("speedup") or "",
        "account_saved_s": account.get("saved", ""),
        "account_spent_s": account.get("spent", ""),
        "switched_off": sum(audit["switched_off"] for audit in ours.report["audits"]),
        "reason": done.get("reason") or "",
    }


def _said(run: Watched) -> list[str]:
    return [line["objects"][0]["attributes"][0]["label"] for line in run.lines]


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(word == word_ for word, word_ in zip(one, other, strict=True))


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True)
    names = [f"{row['stream']}\n{row['oracle']}" for row in rows]
    upper.bar_label(upper.bar(names, [row["cpu_speedup"] for row in rows], 0.5), fmt="%.2f", fontsize=8)
    upper.axhline(1, color="grey", linewidth=0.8)
    upper.set(ylabel="processor time, oracle ÷ ours", title="sluice run on CIFAR-10 streams, whole process")
    lower.bar_label(lower.bar(names, [row["agreement"] for row in rows], 0.5), fmt="%.3f", fontsize=8)
    lower.axhline(ACCURACY, color="grey", linewidth=0.8)
    lower.set(ylabel="agreement with the oracle", ylim=(0.8, 1.02))


if __name__ == "__main__":
    harness.run("weg_cifar", measure, __doc__ or "")
