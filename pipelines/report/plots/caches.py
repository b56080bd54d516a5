"""The spectrum of a network with caches: which share of inputs takes how long (GATI's Figure 6b), and its rivals."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from pipelines.measure.cache_building import CacheReport
from serving.errors import BadInput

LARGEST = 900


def save(path: Path, found: CacheReport) -> None:
    """Write the picture as PNG; raises BadInput where it cannot be written."""
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for variant in found.variants:
        axes.scatter([1e3 * variant.problem.whole], [variant.agreement], marker="^", label=f"{variant.name}, whole")
    built = found.built.caches
    if built is not None:
        hits = [cache.hit_rate for cache in built.card.caches]
        shares = [*hits, 1 - sum(hits)]
        over = f"caches over {built.card.model}"
        axes.scatter(
            [1e3 * seconds for seconds in found.built.leave_s],
            [found.agreement] * len(shares),
            s=[LARGEST * max(share, 0.005) for share in shares],
            alpha=0.5,
            label=f"{over}, by share of inputs",
        )
        axes.axvline(1e3 * found.built.latency_s, color="tab:green", linewidth=0.8, label=f"{over}, mean")
    axes.set(xlabel="processor time of one input, ms", ylabel="agreement with the model", ylim=(None, 1.005))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise BadInput(f"--plot {path}: cannot be written ({error.strerror})") from None
