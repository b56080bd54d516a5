"""Measures a shipped recogniser on pictures it never saw, through the code that serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import Accuracy
from serving.catalogue.lookup import Catalogue
from serving.common.softmax import softmax
from serving.common.tensors import Image
from serving.engines.network import run_in_steps
from serving.loading.opening import open_model
from serving.preprocess import batch
from specialization.shipped.samples import Samples

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
    """The share of right answers, and that of every class that occurs."""
    truth, said = samples.targets.argmax(axis=1), probabilities.argmax(axis=1)
    right = truth == said
    figures = [("top-1", right)]
    present = [number for number in range(len(classes)) if (truth == number).any()]
    if len(present) > 1:
        figures += [(f"recall of {classes[number]}", right[truth == number]) for number in present]
    return [
        Accuracy(dataset=dataset, split=split, metric=metric, value=round(float(hits.mean()), 4), n=len(hits))
        for metric, hits in figures
    ]
