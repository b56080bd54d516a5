"""Loading against running where memory holds half of the networks (Ogden et al., 2021 [CremeBrulee], §VI-B).

The networks of ``eviction_parts/measured.csv``, opened and run in ONNX Runtime on one thread: processor seconds of
opening one and of running it on one image. Then 1,000 requests of an hour for them are replayed, by four correlations
of how often a network is asked with how long it loads, the policies that know the future and those that do not.
``load_over_run``: what loading takes of a request, on average, over what running takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.eviction import POLICIES
from benchmarks.eviction_parts.measured import Measured, exported, read
from benchmarks.eviction_parts.simulate import Workload, simulate
from benchmarks.exit_parts.taps import whole_network
from benchmarks.harness import Outcome, Row, run
from datasets.requests import Correlation, Trace, associate, generate
from serving.common.tensors import Array

REQUESTS, MINUTES = 1000, 60
Association = Correlation | Literal["round-robin"]
ASSOCIATIONS: tuple[Association, ...] = ("uniform", "round-robin", "quantiles", "quantiles-r")
SHARES = (0.5, 0.75, 1.0)
SEEDS, OPENED, RUNS = range(5), 3, 7
QUICK_NETWORKS = 3


@dataclass(frozen=True)
class Timed:
    """One network."""

    known: Measured
    """``load_s``: processor seconds of opening it and of its first run, less ``run_s``."""
    run_s: float


def measure(quick: bool) -> Outcome:
    """A row for each correlation, share of the memory and policy."""
    networks = list(islice(_timed(), QUICK_NETWORKS if quick else None))
    rows = [row for how in ASSOCIATIONS for row in _rows(networks, how)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Loading over running at half of the memory, by correlation and policy."""
    half = [row for row in rows if row["memory_share"] == SHARES[0]]
    found: dict[str, dict[str, float]] = {}
    for row in half:
        found.setdefault(row["correlation"], {})[row["policy"]] = row["load_over_run"]
    return found


def _timed() -> Iterator[Timed]:
    known = {each.network: each for each in read()}
    with tempfile.TemporaryDirectory() as folder:
        for file in exported(Path(folder)):
            if file.stem in known:
                yield _opened(file, known[file.stem])
            file.unlink()


def _opened(file: Path, known: Measured) -> Timed:
    model = onnx.load(file)
    shape = [dim.dim_value or 1 for dim in model.graph.input[0].type.tensor_type.shape.dim]
    item, loads, runs = np.zeros(shape, np.float32), list[float](), list[float]()
    for _ in range(OPENED):
        started_s = time.process_time()
        network = whole_network(file.stem, model)
        network.run(item)
        loads.append(time.process_time() - started_s)
        runs += [_run_s(network.run, item) for _ in range(RUNS)]
        network.close()
    run_s = median(runs)
    return Timed(replace(known, load_s=max(median(loads) - run_s, 0.0)), run_s)


def _run_s(run_: Any, item: Array) -> float:
    started_s = time.process_time()
    run_(item)
    return time.process_time() - started_s


def _rows(networks: Sequence[Timed], how: Association) -> Iterator[Row]:
    works = [_work(networks, how, seed) for seed in SEEDS]
    run_s = {each.known.network: each.run_s for each in networks}
    for share, (name, policy) in product(SHARES, POLICIES.items()):
        loading = [simulate(work, round(share * _bytes(networks)), policy(work.requests)) for work in works]
        load_s = fmean(delay.load_s for delay in loading)
        running_s = fmean(run_s[request] for work in works for request in work.requests)
        yield {
            "correlation": how,
            "memory_share": share,
            "memory_gb": round(share * _bytes(networks) / 1e9, 2),
            "policy": name,
            "load_ms": round(1e3 * load_s, 3),
            "run_ms": round(1e3 * running_s, 3),
            "load_over_run": round(load_s / running_s, 4),
            "misses": round(fmean(delay.misses for delay in loading), 4),
            "networks": len(networks),
        }


def _bytes(networks: Sequence[Timed]) -> int:
    return sum(each.known.size_bytes for each in networks)


def _work(networks: Sequence[Timed], how: Association, seed: int) -> Workload:
    """Functions ask for the networks themselves: several ask for the same."""
    rng = np.random.default_rng(seed)
    whole = generate(rng, minutes=MINUTES)
    counts, trace = whole.counts, _fewer(whole, rng)
    load_s = np.array([each.known.load_s for each in networks])
    numbers = _networks(rng, counts, load_s, how)
    names = [networks[number].known.network for number in numbers]
    cost: Mapping[str, Measured] = {each.known.network: each.known for each in networks}
    return Workload([names[function] for function in trace.models], trace.times_s.tolist(), cost)


def _fewer(trace: Trace, rng: np.random.Generator) -> Trace:
    kept = np.sort(rng.choice(len(trace.models), REQUESTS, replace=False))
    return Trace(trace.models[kept], trace.times_s[kept])


def _networks(
    rng: np.random.Generator, counts: NDArray[np.intp], load_s: NDArray[np.float64], how: Association
) -> NDArray[np.intp]:
    if how != "round-robin":
        correlation: Correlation = (
            "uniform" if how == "uniform" else "quantiles" if how == "quantiles" else "quantiles-r"
        )
        return associate(rng, counts, load_s, correlation)
    slowest_first = np.argsort(-load_s, kind="stable")
    found: NDArray[np.intp] = slowest_first[np.arange(len(counts)) % len(load_s)]
    return found


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    for how in ASSOCIATIONS:
        mine = [row for row in rows if (row["correlation"], row["policy"]) == (how, "cremebrulee_oracle")]
        axes.plot([row["memory_share"] for row in mine], [row["load_over_run"] for row in mine], "o-", label=how)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set(
        xlabel="memory, share of what all networks take", ylabel="loading over running", title="CremeBrulee's oracle"
    )
    axes.legend()


if __name__ == "__main__":
    run("testbed", measure, __doc__ or "")
