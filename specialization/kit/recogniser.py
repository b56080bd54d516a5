"""From crops to a recogniser: features, last layer, last block where it gains, certainty, and a model with its card."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from numpy.typing import NDArray

from learning.calibration import least, temperature
from serving.catalogue.cards import ModelCard, write_card
from serving.catalogue.lookup import Entry, file_sha256
from serving.common.tensors import softmax, words
from serving.errors import ModelError
from specialization.kit.base import OUTPUT, Base, Rows, Weights
from specialization.kit.crops import OTHER, Crops
from specialization.kit.features import CropFeatures, Report, seen
from specialization.kit.head import Folds, Head, divided, fitted, held_out_scores, scores
from specialization.kit.report import HeldOut

FILE = "model.onnx"
LEAST_GAIN = 0.01
"""In balanced accuracy: what training the last block must bring on held-out crops to be kept."""


@dataclass(frozen=True, slots=True)
class RecogniserRequest:
    name: str
    right: float = 0.9
    """Share of the names that shall be right."""
    threads: int = 1
    tune: bool = True
    """Whether the last block may be trained."""


@dataclass(slots=True)
class RecogniserDraft:
    """A recogniser before it is written."""

    model: onnx.ModelProto
    card: ModelCard
    held_out: HeldOut
    notes: list[str] = field(default_factory=list)
    """One line each: what was tried, and what was left out and why."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A way to make it, with what it said of crops that it had not learnt from."""

    features: Rows
    """N × looks × F."""
    labels: NDArray[np.intp]
    folds: Folds
    scores: Rows
    """N × classes; meant for ``measured`` alone."""
    measured: NDArray[np.bool_]
    head: Head
    weights: Weights | None = None
    """The last block's, where it was trained."""


def make(entry: Entry, crops: Crops, wanted: RecogniserRequest, report: Report) -> RecogniserDraft:
    """Train and measure; raises ModelError where the base cannot be used."""
    base = Base.of(entry)
    rows = seen(base, crops, wanted.threads, report)
    labels, outputs = np.array(crops.labels, np.intp), len(crops.classes)
    folds = divided(labels, crops.places)
    report("last layer", 0.0)
    head, everywhere = fitted(rows.features, labels, outputs), np.ones(len(labels), np.bool_)
    found = held_out_scores(rows.features, labels, folds, outputs)
    trial = _Trial(rows.features, labels, folds, found, everywhere, head)
    notes = list[str]()
    if wanted.tune:
        trial, tried = _tuned(base, rows, trial, wanted.threads, report)
        notes.append(tried)
    return _finished(base, crops, trial, wanted, notes)


def _finished(base: Base, crops: Crops, trial: _Trial, wanted: RecogniserRequest, notes: list[str]) -> RecogniserDraft:
    """Give it a temperature and a confidence to name from, and write down what it is worth then."""
    model, measured = base.with_head(*trial.head, trial.weights), trial.measured
    found, truth = trial.scores[measured], trial.labels[measured]
    heat = temperature(found, truth)
    shares = softmax(found / heat)
    confidence = least(shares, truth, wanted.right)
    held_out = HeldOut(crops.classes, truth, shares.argmax(axis=1), words(shares, confidence), trial.folds.unit)
    card = _card(base, crops, wanted.name, held_out)
    return RecogniserDraft(
        model, card.model_copy(update={"temperature": heat, "min_confidence": confidence}), held_out, notes
    )


def _card(base: Base, crops: Crops, name: str, held_out: HeldOut) -> ModelCard:
    """All but the keys that are known only when it is written."""
    return ModelCard(
        name=name,
        version="1",
        tier="own",
        task="classify",
        file=FILE,
        sha256="0" * 64,
        licence=base.card.licence,
        source=f"sluice models train, on the features of {base.card.name} {base.card.version}",
        description=f"Learnt from {crops.words}",
        input=base.card.input,
        outputs=(OUTPUT,),
        classes=tuple(crops.classes),
        scores="logits",
        temperature=1.0,
        min_confidence=0.0,
        other_label=OTHER if OTHER in crops.classes else None,
        accuracy=tuple(held_out.figures(crops.words)),
    )


def place(into: Path) -> TemporaryDirectory[str]:
    """A folder in a directory of models, for one that is not whole yet; ModelError where none can be written there."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(prefix=".train-", dir=into)
    except OSError as error:
        raise _unwritable(into, error) from None


def write(made: RecogniserDraft, scratch: str) -> Path:
    """Put the model's folder beside its ``place``, in one step; ModelError where one is there."""
    into, part = Path(scratch).parent, Path(scratch) / made.card.name
    folder = into / made.card.name
    if folder.exists():
        raise ModelError(f"{folder} exists: remove it, or give the model another name")
    try:
        part.mkdir()
        onnx.save(made.model, part / FILE)
        write_card(part, made.card.model_copy(update={"sha256": file_sha256(part / FILE)}))
        part.rename(folder)
    except OSError as error:
        raise _unwritable(into, error) from None
    return folder


def _unwritable(into: Path, error: OSError) -> ModelError:
    return ModelError(f"{into}: cannot be written ({error.strerror or error})")


def _tuned(base: Base, rows: CropFeatures, frozen: _Trial, threads: int, report: Report) -> tuple[_Trial, str]:
    """The last block trained on all folds but the first, or ``frozen`` where the first gains too little; and a note."""
    part = import_module("specialization.kit.block")  # PyTorch takes seconds to import
    labels, folds = frozen.labels[rows.kept], Folds(frozen.folds.fold[rows.kept], frozen.folds.unit)
    learnt, held = np.flatnonzero(folds.learnt(0)), np.flatnonzero(~folds.learnt(0))
    start = fitted(frozen.features[rows.kept[learnt]], labels[learnt], frozen.scores.shape[1])
    try:
        found = part.tuned(base.parts()[1], start, rows.before, learnt, labels, threads, report)
    except ModelError as error:
        return frozen, f"the features of {base.card.name} stay as they are: {error}"
    after = scores(found.head, found.features[:, 0])
    before = frozen.scores[rows.kept]
    gain = _balanced(after[held], labels[held]) - _balanced(before[held], labels[held])
    tried = f"training the last block brings {gain:+.3f} on held-out crops"
    if gain < LEAST_GAIN:
        return frozen, f"{tried}: not kept"
    return _Trial(found.features, labels, folds, after, ~folds.learnt(0), found.head, found.weights), f"{tried}: kept"


def _balanced(found: Rows, truth: NDArray[np.intp]) -> float:
    hits = found.argmax(axis=1) == truth
    return float(np.mean([hits[truth == each].mean() for each in np.unique(truth)]))
