"""Measures a shipped recogniser on pictures it never saw, through the code that serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def predictor(models: Path, name: str, threads: int) -> Callable[[Sequence[Image]], NDArray[np.float32]]:
    """Pictures → probabilities (N × classes) by the model of this name in a directory of models."""
    entry = Catalogue([models]).find(name)
    network = open_model(entry, threads)

    def predict(images: Sequence[Image]) -> NDArray[np.float32]:
        logits = run_in_steps(network.run, batch(entry.card.input, images)[0], STEP)[0]
        return softmax(logits)

    return predict


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
