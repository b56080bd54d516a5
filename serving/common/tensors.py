"""The data between networks and their callers: arrays, pictures, and the shapes a network takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.errors import ModelError

Array = NDArray[Any]
Image = NDArray[np.uint8]
"""Height × width × 3, blue-green-red."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The dtype and shape of an input or output; None stands for any size, the first axis is the batch."""

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    def check(self, batch: Array, what: str) -> None:
        """Raise ModelError where a batch has another shape or type; ``what`` names the network and the segment."""
        fits = batch.ndim == len(self.shape) and all(
            dim in (None, size) for dim, size in zip(self.shape[1:], batch.shape[1:], strict=True)
        )
        if not fits or batch.dtype != self.dtype:
            given = " × ".join(str(size) for size in batch.shape)
            raise ModelError(f"{what} takes {self}, was given {batch.dtype.name} {given}")

    @property
    def sizes_known(self) -> bool:
        """Whether every size of an item is given."""
        return None not in self.shape[1:]

    def blank(self, items: int = 1) -> Array:
        """Zeros for so many items; a size that may be any is 1."""
        return np.zeros((items, *(dim or 1 for dim in self.shape[1:])), self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype.name} " + " × ".join(
            ["N", *("any" if dim is None else str(dim) for dim in self.shape[1:])]
        )


def numbers(model: str, values: Array) -> Array:
    """Return the values that a model says; ModelError where one of them is no number."""
    if np.isnan(values).any():
        raise ModelError(f"model {model!r} says what is no number (NaN): export it anew, or in another precision")
    return values


def softmax(scores: NDArray[Any]) -> NDArray[np.float32]:
    """Probabilities from N × classes scores; each row adds up to 1, or is all NaN where a score is no number."""
    with np.errstate(invalid="ignore"):  # one that is infinite
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def words(shares: NDArray[np.float32], least: float) -> NDArray[np.intp]:
    """The class that is named for each row of N × classes probabilities; −1 where none is as likely as ``least``.

    >>> words(np.array([[0.2, 0.8], [0.5, 0.5]], np.float32), 0.6).tolist()
    [1, -1]
    """
    return np.where(shares.max(axis=1) >= least, shares.argmax(axis=1), -1)
