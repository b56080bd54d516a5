"""Measures a shipped recogniser on pictures it never saw, through the code that serves it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import Accuracy
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Image, softmax
from serving.engines.network import run_in_steps
from serving.loading.opening import open_model
from serving.preprocess import batch
from tools.shipped.samples import Samples

STEP = 32
LEFT_OUT = Path(__file__).parents[2] / "benchmarks" / "results" / "recognisers.csv"
"""What networks say of cameras that they have not seen: ``python -m benchmarks.recognisers``."""
PARTS = ("light day", "light night", "size below 48 px", "size from 48 px")


def teacher(models: Path, name: str, threads: int) -> Callable[[Sequence[Image]], NDArray[np.float32]]:
    """Pictures → logits (N × classes) by the model of this name in a directory of models."""
    entry = Catalogue([models]).find(name)
    network = open_model(entry, threads)

    def logits(images: Sequence[Image]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = run_in_steps(network.run, batch(entry.card.input, images)[0], STEP)[0]
        return found

    return logits


def predictor(models: Path, name: str, threads: int) -> Callable[[Sequence[Image]], NDArray[np.float32]]:
    """Pictures → probabilities (N × classes) by the model of this name in a directory of models."""
    logits = teacher(models, name, threads)
    return lambda images: softmax(logits(images))


def accuracies(
    dataset: str, split: str, samples: Samples, probabilities: NDArray[np.float32], classes: Sequence[str]
) -> list[Accuracy]:
    """The share of right answers, and that of every name that occurs; one of several allowed names is right."""
    said = probabilities.argmax(axis=1)
    right = samples.targets[np.arange(len(said)), said] > 0
    names = ["|".join(name for name, may in zip(classes, row, strict=True) if may) for row in samples.targets]
    figures = [("top-1", right)]
    present = sorted(set(names), key=lambda name: classes.index(name.partition("|")[0]))
    if len(present) > 1:
        figures += [(f"recall of {name}", right[[each == name for each in names]]) for name in present]
    return [
        Accuracy(dataset=dataset, split=split, metric=metric, value=round(float(hits.mean()), 4), n=len(hits))
        for metric, hits in figures
    ]


def unseen(name: str, parts: Sequence[str] = PARTS) -> Iterator[Accuracy]:
    """How much a recogniser names of cameras left out, and how much of that is right, by light and size."""
    with LEFT_OUT.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for row in rows:
        if row["model"] == f"{name}, camera left out" and row["view"] in parts and row["shipped"] == "True":
            from_there = f"from {row['least_confidence']}"
            figures = {f"named {from_there}": "given", f"right of the named {from_there}": "right_given"}
            for metric, column in figures.items():
                yield Accuracy(
                    dataset=f"crops of street cameras, {row['view']}",
                    split="each camera left out once",
                    metric=metric,
                    value=float(row[column]),
                    n=int(row["n"]),
                )
