"""What an adaptation worker's training costs: ``python -m benchmarks.retraining [--quick]``.

All heads of a network, one each for 1 to 4 classes (as many as a stream keeps), are trained on a window of samples,
in a process that is warm: alone, together with the training set that ships, and on wider activations. Processor
seconds as the process itself counts them. The baseline forwards the window's pictures through the compact network
first, as if samples were pictures. Balasubramanian et al., 2021, §7.2.2 report about 0.48 s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.harness import Outcome, interleaved, run
from learning.store import FeatureStore, write_store
from serving.engines.network import run_in_steps
from serving.errors import SluiceError
from serving.loading.opening import open_model
from specialization.templates.stored import SHIPPED, feature_entry
from specialization.trainer.trainer import Job, ProcessSpecializer

TEMPLATE = SHIPPED / "vehicle-type-compact-features"
HEADS = (1, 2, 3, 4)
"""Classes of each head."""
SAMPLES = (500, 1000, 2000)
WIDE = 576
PAPER_S = 0.48
PICTURES, STEP = 128, 16
SKEW, TOLERANCE = 0.6, 0.1


@dataclass(frozen=True)
class Case:
    """A window of so many samples, and what it is mixed with."""

    name: str
    samples: int
    directory: Path
    store: Path | None = None
    """A training set beside it."""

    def jobs(self) -> list[Job]:
        """One for each head."""
        return [self._job(tuple(range(n))) for n in HEADS]

    def _job(self, classes: tuple[int, ...]) -> Job:
        if self.store is None:
            return Job(str(self.directory), classes, SKEW, TOLERANCE, seed=1)
        return Job(str(self.store), classes, SKEW, TOLERANCE, seed=1, own=str(self.directory))


def measure(quick: bool) -> Outcome:
    """Train the heads of all cases in turns."""
    with TemporaryDirectory(prefix="sluice-") as folder, asyncio.Runner() as runner:
        cases = windows(Path(folder), SAMPLES[-1:] if quick else SAMPLES)
        specializer = ProcessSpecializer()
        try:
            trained = {case: partial(_trained_s, runner, specializer, case) for case in cases}
            trained[cases[0]]()  # starts the process
            found = interleaved(trained, 3 if quick else 9)
        finally:
            runner.run(specializer.close())
        rows = [row(case, seconds) for case, seconds in found.items()]
    picture_s = _picture_s()
    rows = [each | {"forward_s": round(each["samples"] * picture_s, 3)} for each in rows]
    return Outcome(rows, headline(rows), partial(draw, rows=rows))


def windows(folder: Path, sizes: Sequence[int]) -> list[Case]:
    """Windows of the samples that ship, as they are and seen through a wider random layer."""
    shipped = FeatureStore.open(TEMPLATE)
    rng = np.random.default_rng(0)
    wider = rng.normal(size=(shipped.features.shape[1], WIDE)) / 8
    cases = []
    for size in sizes:
        drawn = np.sort(rng.permutation(len(shipped.labels))[:size])
        features, labels = np.asarray(shipped.features[drawn]), shipped.labels[drawn]
        write_store(folder / f"narrow-{size}", features, labels)
        write_store(folder / f"wide-{size}", np.maximum(features.astype(np.float32) @ wider, 0), labels)
        cases += [
            Case("window", size, folder / f"narrow-{size}"),
            Case("window and training set", size, folder / f"narrow-{size}", TEMPLATE),
            Case("window, wide", size, folder / f"wide-{size}"),
        ]
    return cases


def row(case: Case, seconds: Sequence[float]) -> dict[str, Any]:
    """Median and worst of the rounds."""
    return {
        "trained_on": case.name,
        "samples": case.samples,
        "dims": FeatureStore.open(case.directory).features.shape[1],
        "heads": len(HEADS),
        "all_heads_processor_s": round(median(seconds), 4),
        "slowest_processor_s": round(max(seconds), 4),
    }


def headline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The largest window of each kind, beside the paper's figure."""
    last = {each["trained_on"]: each["all_heads_processor_s"] for each in rows}
    return {"all_heads_processor_s": last, "paper_s": PAPER_S}


def draw(figure: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Processor seconds over the samples of the window."""
    axes = figure.subplots()
    for name in dict.fromkeys(each["trained_on"] for each in rows):
        own = [each for each in rows if each["trained_on"] == name]
        axes.plot([each["samples"] for each in own], [each["all_heads_processor_s"] for each in own], "o-", label=name)
    axes.axhline(PAPER_S, color="grey", linewidth=0.5)
    axes.set(xlabel="samples of the window", ylabel="processor seconds for all heads", ylim=(0, None))
    axes.legend()


def _trained_s(runner: asyncio.Runner, specializer: ProcessSpecializer, case: Case) -> float:
    """Processor seconds of all heads of a case, whether each is of use or not."""
    paid: list[float] = []
    for job in case.jobs():
        try:
            runner.run(specializer.train(job, paid.append))
        except SluiceError as error:
            if "no head for" not in str(error):
                raise
    return sum(paid)


def _picture_s() -> float:
    """Processor seconds of the compact network for a picture."""
    entry = feature_entry(TEMPLATE)
    network = open_model(entry, 1)
    pictures = np.zeros((PICTURES, *entry.card.input.item_shape), np.float32)
    run_in_steps(network.run, pictures, STEP)
    started_s = time.process_time()
    run_in_steps(network.run, pictures, STEP)
    took_s = time.process_time() - started_s
    network.close()
    return took_s / PICTURES


if __name__ == "__main__":
    run("retraining", measure, __doc__ or "")
