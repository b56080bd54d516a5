"""What batching a common prefix gains: 2 to 10 networks that differ in their last layer only (Shen, 2019, §3.5.2).

Each network has the same number of items waiting. Apart, every network runs its own batch, one after the other;
together the shared layers run once for all items, then each network's last layer for its own. Both through the code
that serves.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from benchmarks.harness import Outcome, interleaved, run
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.groups import Group, GroupRequest
from serving.loading.opening import open_group, partners
from serving.variants.artefacts import ResolvedModel
from serving.variants.variant import reference
from specialization.kit.base import certain

NETWORKS = ("vehicle-type", "vehicle-type-compact", "street-kind")
COUNTS, QUICK_COUNTS = (2, 3, 5, 7, 10), (2, 5)
ITEMS = (1, 4)
"""Waiting for each network."""
ROUNDS, QUICK_ROUNDS = 40, 5
MAX_BATCH = 64


def measure(quick: bool) -> Outcome:
    """Rows: time per round of items, apart and together, and the memory of both."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row(name, count, items, Path(folder), QUICK_ROUNDS if quick else ROUNDS)
            for name in (NETWORKS[1:] if quick else NETWORKS)
            for count in (QUICK_COUNTS if quick else COUNTS)
            for items in ITEMS
        ]
    ones = [row for row in rows if row["items_each"] == 1]
    return Outcome(rows, {"gain": {row["network"]: _most(ones, row["network"]) for row in ones}}, partial(_draw, rows))


def row(name: str, count: int, items: int, folder: Path, rounds: int) -> dict[str, Any]:
    """So many networks, with so many items each, in milliseconds of a round."""
    sources = relatives(name, count, folder)
    threads = len(os.sched_getaffinity(0))
    assert len(partners(sources[0], [sources[1:]])) == count - 1, "the common prefix was not found"
    apart: Sequence[Group] = [open_group([source], threads) for source in sources]
    together = open_group(sources, threads)
    batch = np.random.default_rng(0).random((items, *_shape(sources[0])), np.float32)
    asked = [GroupRequest(source.name, batch) for source in sources]
    _check_equal(apart, together, asked)
    seconds = interleaved(
        {"apart": partial(_time, apart, asked), "together": partial(_time, [together], asked)}, rounds
    )
    gain = [one / other for one, other in zip(seconds["apart"], seconds["together"], strict=True)]
    found = {
        "network": name,
        "networks": count,
        "items_each": items,
        "apart_ms": round(median(seconds["apart"]) * 1e3, 3),
        "together_ms": round(median(seconds["together"]) * 1e3, 3),
        "gain": round(median(gain), 3),
        "apart_weights_mb": round(sum(source.path.stat().st_size for source in sources) / 1e6, 2),
        "together_memory_share": round(together.memory_bytes() / sum(group.memory_bytes() for group in apart), 3),
    }
    for group in (*apart, together):
        group.close()
    return found


def relatives(name: str, count: int, folder: Path) -> list[ResolvedModel]:
    """Networks that differ from a shipped one in the weights of the last layer."""
    entry = Catalogue([SHIPPED]).find(name)
    rng = np.random.default_rng(1)
    sources = []
    for number in range(count):
        model = certain(onnx.load(entry.path))  # what doubts adds follows the last layer
        last = model.graph.node[-1]
        kernel = next(each for each in model.graph.initializer if each.name in (last.input[1], f"{last.input[1]}.half"))
        values = numpy_helper.to_array(kernel)
        noise = rng.normal(scale=values.std(), size=values.shape).astype(values.dtype)
        kernel.CopyFrom(numpy_helper.from_array(values + noise, kernel.name))
        path = folder / f"{name}-{count}-{number}.onnx"
        onnx.save(model, path)
        sources.append(ResolvedModel(f"{name}-{number}", entry, reference(name), path))
    return sources


def _time(groups: Sequence[Group], asked: Sequence[GroupRequest]) -> float:
    started = time.perf_counter()
    _answers(groups, asked)
    return time.perf_counter() - started


def _answers(groups: Sequence[Group], asked: Sequence[GroupRequest]) -> list[list[Array]]:
    if len(groups) == 1:
        return groups[0].run(asked, MAX_BATCH)
    return [group.run([request], MAX_BATCH)[0] for group, request in zip(groups, asked, strict=True)]


def _check_equal(apart: Sequence[Group], together: Group, asked: Sequence[GroupRequest]) -> None:
    for (mine, *_), (theirs, *_) in zip(_answers(apart, asked), _answers([together], asked), strict=True):
        np.testing.assert_allclose(theirs, mine, atol=1e-4)


def _shape(source: ResolvedModel) -> tuple[int, int, int]:
    return 3, source.card.input.height, source.card.input.width


def _most(rows: Sequence[Mapping[str, Any]], network: str) -> float:
    gain: float = max((row["networks"], row["gain"]) for row in rows if row["network"] == network)[1]
    return gain


def _draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    axes = figure.subplots()
    for network in dict.fromkeys(row["network"] for row in rows):
        for items, style in zip(ITEMS, ("-", "--"), strict=True):
            mine = [row for row in rows if (row["network"], row["items_each"]) == (network, items)]
            label = f"{network}, {items} item{'s' if items > 1 else ''} each"
            axes.plot([row["networks"] for row in mine], [row["gain"] for row in mine], style, marker="o", label=label)
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xlabel="networks that share all but the last layer", ylabel="throughput, together / apart")
    axes.set_title("Batching a common prefix")
    axes.legend(fontsize=8)


if __name__ == "__main__":
    run("prefix", measure, __doc__ or "")
