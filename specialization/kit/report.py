"""The worth of a recogniser on crops that it did not learn from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import Accuracy

UNKNOWN = "unknown"
SPLITS = {
    "camera": "cameras not learnt from",
    "track": "tracks not learnt from",
    "run": "runs of names not learnt from",
}


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Answers to held-out crops; −1: ``unknown``."""

    classes: Sequence[str]
    truth: NDArray[np.intp]
    likeliest: NDArray[np.intp]
    said: NDArray[np.intp]
    unit: str
    """Crops of one are never both learnt from and measured on."""

    @property
    def accuracy(self) -> float:
        """Share of the crops whose likeliest class is right."""
        return float((self.likeliest == self.truth).mean())

    @property
    def balanced(self) -> float:
        """The mean of that over the classes."""
        hits = self.likeliest == self.truth
        return float(np.mean([hits[self.truth == each].mean() for each in np.unique(self.truth)]))

    @property
    def coverage(self) -> float:
        """Share of the crops that are named."""
        return float((self.said >= 0).mean())

    @property
    def right(self) -> float:
        """Share of the names that are right; 0 where none is given."""
        named = self.said >= 0
        return float((self.said == self.truth)[named].mean()) if named.any() else 0.0

    def confusion(self) -> NDArray[np.intp]:
        """Classes × (classes and ``unknown``): how often each was said of each."""
        width = len(self.classes)
        table = np.zeros((width, width + 1), np.intp)
        np.add.at(table, (self.truth, np.where(self.said < 0, width, self.said)), 1)
        return table

    def figures(self, dataset: str) -> Iterator[Accuracy]:
        """Lines of the card."""
        split, count, named = SPLITS[self.unit], len(self.truth), int((self.said >= 0).sum())
        yield Accuracy(dataset=dataset, split=split, metric="top-1", value=round(self.accuracy, 4), n=count)
        yield Accuracy(dataset=dataset, split=split, metric="balanced top-1", value=round(self.balanced, 4), n=count)
        yield Accuracy(dataset=dataset, split=split, metric="named", value=round(self.coverage, 4), n=count)
        if named:
            yield Accuracy(dataset=dataset, split=split, metric="right of named", value=round(self.right, 4), n=named)
        for number, name in enumerate(self.classes):
            hits = (self.likeliest == number)[self.truth == number]
            if len(hits):
                value = round(float(hits.mean()), 4)
                yield Accuracy(dataset=dataset, split=split, metric=f"recall of {name}", value=value, n=len(hits))
