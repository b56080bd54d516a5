"""Engines and precisions against eager PyTorch: latency in turns, and how often they answer as the reference does.

Networks: those that ship, ResNet-18 for CIFAR-10 with public key names, a detector (latency alone). int8 is calibrated
on other pictures than it is compared on. Figures of the headline:

- ``default_over_best``: time of ONNX Runtime ÷ time of the quickest engine, both in fp32, geometric mean of all rows;
  ``default_over_best_at_worst``: the row in which it is furthest behind
- ``processor``: what all of this is of; engines differ in what they make of its instructions, and in how threads wait
- ``speedup_*``: time of eager PyTorch in fp32 ÷ time of the quickest engine at that precision, likewise; null where
  no engine computes in it on this processor
- ``agreement_*``: share of equal best classes with the reference, the least of all networks and engines; where the
  processor has no bf16, of PyTorch's, which is not timed

On a GPU the same table shows ONNX Runtime's CUDA provider and PyTorch on CUDA, which are chosen by themselves, and the
headline has ``head_overlap``: what heads behind one cut gain from streams of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import geometric_mean
from typing import Any

import torch

from benchmarks.engines_parts.cases import Case, cases
from benchmarks.engines_parts.contest import BATCHES, EAGER, REFERENCE, Result, Way, contest, device
from benchmarks.engines_parts.overlap import head_overlap
from benchmarks.harness import Outcome, Row, run
from serving.common.precision import Precision
from serving.common.threads import usable_cores
from serving.variants.profiles import fingerprint

BUDGET_S, QUICK_BUDGET_S = 16.0, 2.0
COMPARED: tuple[Precision, ...] = ("fp32", "bf16", "int8")
"""Precisions of processors."""
OVERLAP_ROUNDS, QUICK_OVERLAP_ROUNDS = 200, 20


def measure(quick: bool) -> Outcome:
    """Rows: network × engine × precision × size of batch."""
    torch.set_num_threads(usable_cores())
    rows: list[Row] = []
    for case in cases(quick):
        rows += case_rows(case, contest(case, QUICK_BUDGET_S if quick else BUDGET_S))
    figures: dict[str, Any] = {**headline(rows), "processor": fingerprint("onnxruntime").processor}
    if device() == "cuda":
        figures["head_overlap"] = round(head_overlap("cuda", QUICK_OVERLAP_ROUNDS if quick else OVERLAP_ROUNDS), 2)
    return Outcome(rows, figures, partial(draw, rows))


def case_rows(case: Case, results: Mapping[Way, Result]) -> list[Row]:
    """One per engine, precision and size of batch; None where there is nothing to say."""
    return [
        {
            "network": case.name,
            "device": device(),
            "engine": way.engine,
            "precision": way.precision,
            "batch": size,
            "latency_ms": _rounded(result.latency_s.get(size), 1e3),
            "speedup_over_eager": _ratio(results.get(EAGER), result, size),
            "over_best_at_precision": _ratio(result, _best(results, way.precision, size), size),
            "agreement": _rounded(result.agreement),
            "agreement_items": result.items,
        }
        for way, result in results.items()
        for size in BATCHES
    ]


def headline(rows: Sequence[Row]) -> dict[str, float | None]:
    """The figures that the module's docstring explains."""
    default = [row for row in rows if (row["engine"], row["precision"]) == REFERENCE]
    figures = {
        "default_over_best": _mean(row["over_best_at_precision"] for row in default),
        "default_over_best_at_worst": max(row["over_best_at_precision"] for row in default),
    }
    for precision in COMPARED:
        best = [row for row in rows if row["precision"] == precision and row["over_best_at_precision"] == 1.0]
        figures[f"speedup_{precision}"] = _mean(row["speedup_over_eager"] for row in best)
    for precision in COMPARED[1:]:
        known = [row["agreement"] for row in rows if row["precision"] == precision and row["agreement"] is not None]
        figures[f"agreement_{precision}"] = min(known, default=None)
    return figures


def _best(results: Mapping[Way, Result], precision: str, size: int) -> Result | None:
    """The quickest engine; the baseline is none."""
    timed = [
        result
        for way, result in results.items()
        if way.precision == precision and way != EAGER and size in result.latency_s
    ]
    return min(timed, key=lambda result: result.latency_s[size], default=None)


def _ratio(one: Result | None, other: Result | None, size: int) -> float | None:
    if one is None or other is None or size not in one.latency_s or size not in other.latency_s:
        return None
    return round(one.latency_s[size] / other.latency_s[size], 3)


def _rounded(value: float | None, factor: float = 1.0) -> float | None:
    return None if value is None else round(value * factor, 4)


def _mean(ratios: Any) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return round(geometric_mean(known), 3) if known else None


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Speed over eager PyTorch by network, a panel per size of batch."""
    speedups = {
        (row["engine"], row["precision"], row["network"], row["batch"]): row["speedup_over_eager"]
        for row in rows
        if row["speedup_over_eager"] is not None
    }
    ways = list(dict.fromkeys((engine, precision) for engine, precision, _, _ in speedups))
    networks = list(dict.fromkeys(network for _, _, network, _ in speedups))
    width = 1 / (len(ways) + 1)
    panels = figure.subplots(len(BATCHES), 1, sharex=True)
    for panel, size in zip(panels, BATCHES, strict=True):
        for index, way in enumerate(ways):
            heights = [speedups.get((*way, name, size), 0.0) for name in networks]
            places = [place + index * width for place in range(len(networks))]
            panel.bar(places, heights, width, align="edge", label=" ".join(way))
        panel.axhline(1, color="grey", linewidth=0.5)
        panel.set_ylabel(f"× eager PyTorch, batch {size}")
    panels[-1].set_xticks([place + (1 - width) / 2 for place in range(len(networks))], networks)
    panels[0].legend(fontsize=7, ncols=3)


if __name__ == "__main__":
    run("engines", measure, (__doc__ or "").partition("\n")[0])
