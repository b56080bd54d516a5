"""How long it takes until a stream has a head for other classes: ``python -m benchmarks.retarget [--quick]``.

A job goes to a process that is warm; it opens the feature store, trains heads on parts of it to validate, and one on
all. The baseline forwards the same rows' pictures through the feature network of ``vehicle-type-compact`` first, as
without a store: timed on 128 pictures in the same round, and multiplied. Shen, 2019, §5.2 reports 4 s and 14 s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.harness import Outcome, interleaved, run
from learning.store import FeatureStore, write_store
from serving.engines.network import Network, run_in_steps
from serving.errors import SluiceError
from serving.loading.opening import open_model
from specialization.heads.train import HeadSamples, training_rows
from specialization.templates.stored import SHIPPED, feature_entry
from specialization.trainer.trainer import Job, ProcessSpecializer

TEMPLATE = SHIPPED / "vehicle-type-compact-features"
PICTURES, STEP = 128, 16
SKEW, TOLERANCE = 0.6, 0.02
CLASSES, ROWS, DIMS = 100, 20_000, 256


@dataclass(frozen=True)
class Case:
    """A store, and a number of classes to specialise to."""

    name: str
    directory: Path
    n: int

    def job(self, seed: int) -> Job:
        """For classes drawn by the seed."""
        known = np.unique(FeatureStore.open(self.directory).labels)
        classes = np.random.default_rng(seed).choice(known, self.n, replace=False)
        return Job(str(self.directory), tuple(sorted(classes.tolist())), SKEW, TOLERANCE, seed)

    def rows(self) -> int:
        """That a head is trained on."""
        store, job = FeatureStore.open(self.directory), self.job(0)
        drawn = training_rows(HeadSamples(store.features, store.labels), job.classes, SKEW, np.random.default_rng(0))
        return len(drawn.targets)


def measure(quick: bool) -> Outcome:
    """Time the jobs of all cases in turns with the forwarding."""
    with TemporaryDirectory(prefix="sluice-") as folder:
        synthetic(Path(folder))
        cases = [Case("vehicle-type", TEMPLATE, n) for n in range(1, 7)]
        cases += [Case("100 classes", Path(folder), n) for n in range(1, 11)]
        cases = cases[::3] if quick else cases
        with asyncio.Runner() as runner:
            specializer = ProcessSpecializer()
            try:
                ask = partial(_asked, runner, specializer)
                cold_s = ask(cases[0], 0)
                seconds = _timed(cases, ask, rounds=3 if quick else 9)
            finally:
                runner.run(specializer.close())
        rows = [row(case, seconds) for case in cases]
    return Outcome(rows, headline(rows, cold_s), partial(draw, rows=rows))


def synthetic(folder: Path) -> None:
    """A store as wide and as long as they get; classes that overlap, as seen through a random layer."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, ROWS)
    inner = rng.normal(size=(CLASSES, 20))[labels] + rng.normal(size=(ROWS, 20))
    outer = inner @ rng.normal(size=(20, DIMS)) + 2 * rng.normal(size=(ROWS, DIMS))
    write_store(folder, np.maximum(outer, 0), labels)


def row(case: Case, seconds: Mapping[object, list[float]]) -> dict[str, Any]:
    """Medians of the rounds; under None, the seconds of one picture."""
    retarget_s, picture_s, rows = median(seconds[case]), median(seconds[None]), case.rows()
    return {
        "store": case.name,
        "n": case.n,
        "rows": rows,
        "dims": FeatureStore.open(case.directory).features.shape[1],
        "retarget_s": round(retarget_s, 4),
        "slowest_s": round(max(seconds[case]), 4),
        "forward_s": round(rows * picture_s, 3),
        "without_store_s": round(rows * picture_s + retarget_s, 3),
        "ratio": round((rows * picture_s + retarget_s) / retarget_s, 1),
    }


def headline(rows: Sequence[Mapping[str, Any]], cold_s: float) -> dict[str, Any]:
    """The row with the most classes, for each store."""
    last = {row["store"]: row for row in rows}
    return {
        "retarget_s": {name: row["retarget_s"] for name, row in last.items()},
        "n": {name: row["n"] for name, row in last.items()},
        "speedup_over_forwarding": {name: row["ratio"] for name, row in last.items()},
        "first_job_s": round(cold_s, 3),
    }


def draw(figure: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Seconds over the number of classes, on a logarithmic axis."""
    axes = figure.subplots()
    for name, colour in (("vehicle-type", "tab:blue"), ("100 classes", "tab:orange")):
        own = [row for row in rows if row["store"] == name]
        n = [row["n"] for row in own]
        label = f"{name}, {own[0]['dims']} features"
        axes.plot(n, [row["retarget_s"] for row in own], "o-", color=colour, label=label)
        axes.plot(n, [row["without_store_s"] for row in own], "o:", color=colour, label="pictures forwarded again")
    axes.axhline(1, color="grey", linewidth=0.5)
    axes.set(xlabel="dominant classes", ylabel="seconds until the head is there", yscale="log", ylim=(0.01, None))
    axes.legend()


def _timed(cases: Sequence[Case], ask: Callable[[Case, int], float], rounds: int) -> Mapping[object, list[float]]:
    entry = feature_entry(TEMPLATE)
    network = open_model(entry, 2)
    pictures = np.zeros((PICTURES, *entry.card.input.item_shape), np.float32)
    seeds = iter(range(1, 1_000_000))
    variants: dict[object, Callable[[], float]] = {case: partial(_next, ask, case, seeds) for case in cases}
    variants[None] = partial(_forwarded_s, network, pictures)
    found = interleaved(variants, rounds)
    network.close()
    return found


def _next(ask: Callable[[Case, int], float], case: Case, seeds: Any) -> float:
    return ask(case, next(seeds))


def _asked(runner: asyncio.Runner, specializer: ProcessSpecializer, case: Case, seed: int) -> float:
    """Seconds from asking until the head is there, or until it is known that there is none."""
    job = case.job(seed)
    started = time.perf_counter()
    try:
        runner.run(specializer.train(job))
    except SluiceError as error:
        if "no head for" not in str(error):
            raise
    return time.perf_counter() - started


def _forwarded_s(network: Network, pictures: Any) -> float:
    started = time.perf_counter()
    run_in_steps(network.run, pictures, STEP)
    return (time.perf_counter() - started) / len(pictures)


if __name__ == "__main__":
    run("retarget", measure, __doc__ or "")
