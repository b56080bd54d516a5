"""What specialization spares where the oracle is good and every picture is another object: CIFAR-10 as streams.

A user's two networks, ResNet-18 and ResNet-20, become models; ``sluice specialize profile`` makes a template of the
small one from 1 200 pictures; then ``sluice run`` classifies streams of other pictures, ten a second, with
``specialize: true`` and without, at the ``accuracy`` that a query has by default. Both runs of a stream go on at the
same time, each in a process of its own, so that whatever else the machine does is met by both:

``5_90``, ``2_90``  five classes make up 90 % of ten minutes, or two of two and a half
``5_90_long``       five classes make up 90 % of twenty minutes, other pictures than those of ten
``random``          all classes are equally frequent: heads cannot pay
``short``           half a minute of such a stream as 5_90: heads have no time to pay
``small``           the same for longer, with ResNet-20 as the oracle, hardly larger than what could spare it

``cpu_s`` is the processor time of the whole process, with decoding, training and audits; ``node_speedup`` is
that of the node by its own account.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks import harness
from benchmarks.weg_parts.cifar_models import CLASSES, LARGE, SMALL, Pictures, write_models
from datasets.streams import Phase, generate

SEED = 1
QUICK = 60
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
        pictures.write_stored(place / "stored")
        _sluice(place, "specialize", "profile", LARGE, "--data", str(place / "stored"))
        truth = {name: _stream(place, pictures, name, quick) for name in names}
        rows = [_row(name, *_runs(place, name, truth[name])) for name in names]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Processor time of the oracle alone over ours, and agreement, by stream."""
    return {key: {row["stream"]: row[key] for row in rows} for key in ("cpu_speedup", "agreement", "accuracy_diff")}


def _stream(place: Path, pictures: Pictures, name: str, quick: bool) -> list[str]:
    phase, _ = STREAMS[name]
    labels = generate(np.random.default_rng((SEED, *name.encode())), CLASSES, [phase]).labels
    return pictures.write_stream(place / "streams" / name, labels[:QUICK] if quick else labels, SEED)


def _runs(place: Path, name: str, truth: Sequence[str]) -> list[Mapping[str, Any]]:
    """Without heads and with them, at the same time."""
    with ThreadPoolExecutor(2) as both:
        return list(both.map(lambda special: _run(place, name, special, truth), (False, True)))


def _run(place: Path, name: str, special: bool, truth: Sequence[str]) -> Mapping[str, Any]:
    _, model = STREAMS[name]
    folder = place / f"{name}-{'heads' if special else 'oracle'}"
    folder.mkdir()
    node = {"name": "kind", "task": "recognise", "input": "frame", "model": model}
    query = {
        "version": 1,
        "name": "weg-cifar",
        "slo_ms": 60_000,
        "accuracy": ACCURACY,
        "streams": [{"id": name, "uri": str(place / "streams" / name)}],
        "nodes": [node | ({"specialize": True} if special else {})],
    }
    (folder / "query.yaml").write_text(yaml.safe_dump(query))
    results, report = folder / "results.jsonl", folder / "report.json"
    cpu_s = _sluice(place, "run", str(folder / "query.yaml"), "--out", str(results), "--report", str(report))
    said = [json.loads(line)["objects"][0]["attributes"][0]["label"] for line in results.read_text().splitlines()]
    right = sum(word == shown for word, shown in zip(said, truth, strict=True))
    return {"cpu_s": cpu_s, "said": said, "right": right, "report": json.loads(report.read_text())}


def _sluice(place: Path, *arguments: str) -> float:
    """Run a command; returns the processor seconds of its process."""
    known = {**os.environ, "SLUICE_CACHE": str(place / "cache"), "SLUICE_MODELS": str(place / "models")}
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said, env=known) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(said.read().decode())
    return used.ru_utime + used.ru_stime


def _row(name: str, oracle: Mapping[str, Any], ours: Mapping[str, Any]) -> harness.Row:
    pairs = list(zip(ours["said"], oracle["said"], strict=True))
    done: Mapping[str, Any] = next(iter(ours["report"]["specialization"]), {})
    account = done.get("processor_s") or {}
    return {
        "stream": name,
        "oracle": STREAMS[name][1],
        "pictures": len(pairs),
        "oracle_cpu_s": round(oracle["cpu_s"], 2),
        "cpu_s": round(ours["cpu_s"], 2),
        "cpu_speedup": round(oracle["cpu_s"] / ours["cpu_s"], 3),
        "agreement": round(sum(one == other for one, other in pairs) / len(pairs), 4),
        "oracle_accuracy": round(oracle["right"] / len(pairs), 4),
        "accuracy_diff": round((ours["right"] - oracle["right"]) / len(pairs), 4),
        "by_head": round(done.get("head", 0) / len(pairs), 4),
        "audits": done.get("audits", ""),
        "node_speedup": done.get("speedup") or "",
        "account_saved_s": account.get("saved", ""),
        "account_spent_s": account.get("spent", ""),
        "switched_off": sum(audit["switched_off"] for audit in ours["report"]["audits"]),
        "reason": done.get("reason") or "",
    }


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
