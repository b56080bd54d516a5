"""How many workers a query needs, by the way its SLO is split (Shen, 2019, §3.6.4: 13–55 % higher throughput).

A detector is followed by a classifier that is asked α times for each of its items. For SLOs of 300 to 500 ms the split
that needs the fewest workers is compared with even parts. This is computed, not run: throughputs follow from batch
latencies ℓ(b) = fixed + b × item. Those of the paper's two networks are made from the figures that it gives: SSD serves
142 and 191 items/s on four devices in batches of 3 and 7 (Table 3.6), and Inception 1,300 items/s at an SLO of 100 ms
(§3.5.1), of which a tenth of a batch's time is taken to be fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks import harness
from benchmarks.split_parts.given import even_split
from pipelines.planning.latency_split import LatencySplit, Stage, batch_throughput, best_split

SLOS_MS = (300, 350, 400, 450, 500)
ALPHAS = (0.1, 1.0, 10.0)
LARGEST_BATCH = 64


def line(fixed_s: float, item_s: float) -> dict[float, float]:
    """Throughput by budget of a network whose batches take a line's time."""
    return batch_throughput({batch: fixed_s + batch * item_s for batch in range(1, LARGEST_BATCH + 1)})


def ssd() -> dict[float, float]:
    """The line through the two batches of Table 3.6; its rates are those of four devices."""
    three_s, seven_s = 3 * 4 / 142, 7 * 4 / 191
    item_s = (seven_s - three_s) / 4
    return line(three_s - 3 * item_s, item_s)


def inception() -> dict[float, float]:
    """A batch of 65 takes half of 100 ms."""
    return line(0.005, 0.045 / 65)


def stages(alpha: float) -> list[Stage]:
    """The query of the paper's experiment."""
    return [Stage("ssd", None, 1.0, ssd()), Stage("inception", "ssd", alpha, inception())]


def measure(quick: bool) -> harness.Outcome:
    """Both splits of every SLO and α."""
    rows = [row for alpha in ALPHAS for slo_ms in SLOS_MS for row in _rows(alpha, slo_ms)]
    gains = {f"{alpha:g}": [round(least(rows, alpha) - 1, 3), round(most(rows, alpha) - 1, 3)] for alpha in ALPHAS}
    return harness.Outcome(rows, {"throughput_gain": gains}, partial(_draw, rows))


def _rows(alpha: float, slo_ms: int) -> list[harness.Row]:
    query = stages(alpha)
    best, even = best_split(query, slo_ms / 1000), even_split(query, slo_ms / 1000)
    assert best is not None
    assert even is not None
    return [_row("best", alpha, slo_ms, best, even), _row("even", alpha, slo_ms, even, even)]


def _row(split: str, alpha: float, slo_ms: int, found: LatencySplit, even: LatencySplit) -> harness.Row:
    budgets: Mapping[str, float] = found.budgets_s
    return {
        "split": split,
        "alpha": alpha,
        "slo_ms": slo_ms,
        "ssd_ms": round(1000 * budgets["ssd"], 1),
        "inception_ms": round(1000 * budgets["inception"], 1),
        "workers_for_1000_per_s": round(1000 * found.workers, 2),
        "throughput_over_even": round(even.workers / found.workers, 4),
    }


def least(rows: Sequence[harness.Row], alpha: float) -> float:
    """The least gain over the SLOs."""
    return min(float(row["throughput_over_even"]) for row in rows if row["alpha"] == alpha and row["split"] == "best")


def most(rows: Sequence[harness.Row], alpha: float) -> float:
    """The greatest gain over the SLOs."""
    return max(float(row["throughput_over_even"]) for row in rows if row["alpha"] == alpha and row["split"] == "best")


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    for place, (alpha, axes) in enumerate(zip(ALPHAS, figure.subplots(1, len(ALPHAS)), strict=True)):
        for split, colour in (("even", "#bbb"), ("best", "#2a7")):
            mine = [row for row in rows if row["alpha"] == alpha and row["split"] == split]
            axes.plot(
                [row["slo_ms"] for row in mine],
                [row["workers_for_1000_per_s"] for row in mine],
                color=colour,
                label=split,
            )
        axes.set_title(f"α = {alpha:g}", fontsize=8)
        axes.set_xlabel("SLO, ms", fontsize=7)
        axes.set_ylim(bottom=0)
        if place == 0:
            axes.set_ylabel("workers for 1,000 frames/s", fontsize=7)
            axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("split", measure, __doc__ or "")
