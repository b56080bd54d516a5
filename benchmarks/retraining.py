"""What an adaptation worker's training costs: ``python -m benchmarks.retraining [--quick]``.

All heads of a network, one each for 1 to 4 classes (as many as a stream keeps), are trained on a window of samples,
in a process that is warm: alone, together with the training set that ships, and on wider activations. The baseline
forwards the window's pictures through the compact network first, as if samples were pictures. Learned caches are built
for ``vehicle-type`` in the process that builds them for an adaptation worker, at the three places where that has them
tried: explored, cross-fitted, chosen and tuned. Their activations are simulated, as many as those places have: time
goes by their number. Processor seconds as the processes themselves count them. Balasubramanian et al., 2021, §7.2.1
report about 0.48 s for the caches of a network, which they train further, five times over a window of samples.
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
from numpy.typing import NDArray

from benchmarks.harness import Outcome, interleaved, run
from learning.job_runner import JobRunner
from learning.store import FeatureStore, write_store
from operators.recognise.cached.building import CutNetwork, CutPlace, answer_of
from operators.recognise.cached.building import job as caches_job
from operators.recognise.cached.cache_kind import LOOK_S, WEIGHT_BYTES
from pipelines.assembly.caches import CHILD, NAME
from pipelines.measure.cache_places import cut_places
from serving.catalogue.lookup import SHIPPED as NETWORKS
from serving.catalogue.lookup import Catalogue
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
ORACLE, AGREEMENT = "vehicle-type", 0.97
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


@dataclass(frozen=True, eq=False)
class CachesCase:
    """A window of so many samples of an oracle's activations."""

    samples: int
    directory: Path
    network: CutNetwork

    name = "caches"


def measure(quick: bool) -> Outcome:
    """Train the heads and the caches of all cases in turns."""
    sizes = SAMPLES[-1:] if quick else SAMPLES
    with TemporaryDirectory(prefix="sluice-") as folder, asyncio.Runner() as runner:
        cases, of_caches = windows(Path(folder), sizes), caches_windows(Path(folder), sizes)
        specializer, builder = ProcessSpecializer(), JobRunner(CHILD, NAME)
        try:
            trained: dict[Case | CachesCase, Callable[[], float]] = {
                case: partial(_trained_s, runner, specializer, case) for case in cases
            }
            trained |= {case: partial(_built_s, runner, builder, case) for case in of_caches}
            trained[cases[0]]()  # starts the process
            trained[of_caches[0]]()
            found = interleaved(trained, 2 if quick else 7)
        finally:
            runner.run(specializer.close())
            runner.run(builder.close())
        rows = [row(case, seconds) for case, seconds in found.items()]
    picture_s = _picture_s()
    rows = [
        each | {"forward_s": None if each["trained_on"] == "caches" else round(each["samples"] * picture_s, 3)}
        for each in rows
    ]
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


def caches_windows(folder: Path, sizes: Sequence[int]) -> list[CachesCase]:
    """Windows of simulated activations; later places tell the classes apart better."""
    entry = Catalogue([NETWORKS]).find(ORACLE)
    plan, classes = cut_places(entry), len(entry.card.classes)
    network = CutNetwork(ORACLE, entry.card.identity, classes, plan)
    cases = []
    for size in sizes:
        rng = np.random.default_rng(size)
        labels = rng.choice(classes, size, p=_skewed(classes))
        taps = [_activations(cut, labels, classes, rng) for cut in plan]
        write_store(folder / f"caches-{size}", np.concatenate(taps, axis=1), labels)
        cases.append(CachesCase(size, folder / f"caches-{size}", network))
    return cases


def _skewed(classes: int) -> NDArray[np.float64]:
    weights = 1 / np.arange(1, classes + 1) ** 1.5
    found: NDArray[np.float64] = weights / weights.sum()
    return found


def _activations(
    cut: CutPlace, labels: NDArray[np.intp], classes: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    values = int(np.prod(cut.grid))
    means = rng.normal(0, 0.15 * cut.share, (classes, values))
    found: NDArray[np.float32] = np.maximum(means[labels] + rng.normal(0, 1, (len(labels), values)), 0).astype(
        np.float32
    )
    return found


def row(case: Case | CachesCase, seconds: Sequence[float]) -> dict[str, Any]:
    """Median and worst of the rounds."""
    return {
        "trained_on": case.name,
        "samples": case.samples,
        "dims": FeatureStore.open(case.directory).features.shape[1],
        "made": len(HEADS) if isinstance(case, Case) else len(case.network.cuts),
        "processor_s": round(median(seconds), 4),
        "slowest_processor_s": round(max(seconds), 4),
    }


def headline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The largest window of each kind of heads; caches, beside the paper's figure for caches."""
    last = {each["trained_on"]: each["processor_s"] for each in rows}
    caches_s = last.pop("caches", None)
    return {"heads_processor_s": last, "caches_processor_s": caches_s, "caches_of_the_paper_s": PAPER_S}


def draw(figure: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Processor seconds over the samples of the window."""
    axes = figure.subplots()
    for name in dict.fromkeys(each["trained_on"] for each in rows):
        own, what = [each for each in rows if each["trained_on"] == name], "" if name == "caches" else "heads: "
        style = "s--" if name == "caches" else "o-"
        axes.plot(
            [each["samples"] for each in own], [each["processor_s"] for each in own], style, label=f"{what}{name}"
        )
    axes.axhline(PAPER_S, color="grey", linewidth=0.5, label="caches, as the paper reports")
    axes.set(xlabel="samples of the window", ylabel="processor seconds for all of a network", ylim=(0, None))
    axes.legend()


def _built_s(runner: asyncio.Runner, builder: JobRunner, case: CachesCase) -> float:
    """Processor seconds of building the caches of a network, whether they pay or not."""
    wanted = caches_job(case.network, LOOK_S, case.directory, AGREEMENT, 1, WEIGHT_BYTES)
    return runner.run(answer_of(builder, wanted)).processor_s


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
