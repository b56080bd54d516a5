"""What training costs: ``python -m benchmarks.retraining [--quick]``.

Crops of generated streets go through a recogniser of vehicle types, cut at the two places where exits are tried. To
windows of their taps exits are fitted, at one cut and at two, three times over for its folds beside those that answer.
Then thresholds are tuned on as many looks as a node keeps. Both as nodes do it, in a thread of the process, warm.
Balasubramanian et al., 2021, §7.2.1 report about 0.48 s for the caches of a network, which they train further, five
times over a window of samples.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.exit_parts.taps import through
from benchmarks.harness import Outcome, interleaved, run
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE, ready
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import FOLDS, ExitRows
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.tune import ExitCosts, tuned
from cache_adapt.learned.vocabulary import Vocabulary
from datasets.street import street_crops
from operators.recognise.classifier import probabilities
from pipelines.measure.exit_places import exit_places
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry, read_weights
from serving.preprocess import batch

AGREEMENT = 0.9
SAMPLES, QUICK_SAMPLES = (150, 600, 2400), (150,)
CUTS = (1, 2)
SEED, SIDE = 7, 96
PAPER_S = 0.48
FIT, TUNING = "fit", "tuning"


@dataclass(frozen=True, eq=False)
class Window:
    """So many samples, and what is to be done with them."""

    what: str
    card: ModelCard
    """The network's."""
    spec: ExitsSpec
    rows: ExitRows

    def fitted(self) -> ExitArtefact:
        return fit(self.card.name, self.card.identity, self.spec, self.rows)


def measure(quick: bool) -> Outcome:
    """Fit and tune on all windows in turns."""
    entry = Catalogue([ready(MIDDLE, DEAR)]).find(MIDDLE.name)
    cases = windows(entry, QUICK_SAMPLES if quick else SAMPLES)
    works = {case: partial(fit_s if case.what == FIT else tuning_s, case) for case in cases}
    with threadpool_limits(1, user_api="blas"):
        found = interleaved(works, 2 if quick else 9)
    rows = [row(case, seconds) for case, seconds in found.items()]
    return Outcome(rows, headline(rows), partial(draw, rows=rows))


def windows(entry: Entry, sizes: Sequence[int]) -> list[Window]:
    """The newest samples of each number: fits at each number of cuts, and a tuning at all."""
    vocabulary = Vocabulary(len(entry.card.classes), entry.card.min_confidence)
    spec, rows = _sampled(entry, vocabulary, max(sizes))
    found = []
    for size in sizes:
        some = rows.newest(size)
        for count in CUTS:
            last = range(len(spec.cuts))[-count:]
            few = ExitsSpec(tuple(spec.cuts[place] for place in last), vocabulary, AGREEMENT)
            found.append(Window(FIT, entry.card, few, some.at(list(last))))
        found.append(Window(TUNING, entry.card, spec, some))
    return found


def _sampled(entry: Entry, vocabulary: Vocabulary, count: int) -> tuple[ExitsSpec, ExitRows]:
    spec = ExitsSpec(tuple(exit_places(entry)), vocabulary, AGREEMENT)
    crops, _ = street_crops(SEED, count, SIDE)
    model = read_weights(entry.path, entry.card)
    items = batch(entry.card.input, list(crops))[0]
    taps, scores = through(entry.card.name, model, [cut.tensor for cut in spec.cuts], items)
    shares = probabilities(entry.card, scores)
    folds = np.arange(count) % FOLDS
    return spec, ExitRows(taps, shares, vocabulary.of(shares), np.ones(count, np.float32), folds)


def fit_s(window: Window) -> float:
    """Processor seconds of this thread for fitting exits."""
    began_s = time.thread_time()
    window.fitted()
    return time.thread_time() - began_s


def tuning_s(window: Window) -> float:
    """Processor seconds of this thread for a tuning, each sample by exits that have not seen it."""
    artefact = window.fitted()
    shown = ShownLooks.of([str(row) for row in range(len(window.rows))])
    heard = Heard.unseen(artefact, replace(window.rows, shown=shown))
    costs = ExitCosts.of([cut.share for cut in window.spec.cuts], 1.0, 0.01, 0.01)
    began_s = time.thread_time()
    tuned(heard, costs, AGREEMENT)
    return time.thread_time() - began_s


def row(case: Window, seconds: Sequence[float]) -> dict[str, Any]:
    """Median and worst of the rounds."""
    return {
        "what": case.what,
        "cuts": len(case.spec.cuts),
        "samples": len(case.rows),
        "dims": case.spec.layout.dims,
        "processor_s": round(median(seconds), 4),
        "slowest_processor_s": round(max(seconds), 4),
    }


def headline(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The largest window of each kind, beside the paper's figure for caches."""
    last = {f"{each['what']}, {each['cuts']} cuts": each["processor_s"] for each in rows}
    return {"processor_s": last, "caches_of_the_paper_s": PAPER_S}


def draw(figure: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Processor seconds over the samples of the window."""
    axes = figure.subplots()
    for what, cuts in dict.fromkeys((each["what"], each["cuts"]) for each in rows):
        own = [each for each in rows if (each["what"], each["cuts"]) == (what, cuts)]
        label = f"{what}, exits at {cuts} cut{'s' if cuts > 1 else ''}"
        axes.plot([each["samples"] for each in own], [each["processor_s"] for each in own], "o-", label=label)
    axes.axhline(PAPER_S, color="grey", linewidth=0.5, label="caches, as the paper reports")
    axes.set(xlabel="samples of the window", ylabel="processor seconds", ylim=(0, None))
    axes.legend()


if __name__ == "__main__":
    run("retraining", measure, __doc__ or "")
