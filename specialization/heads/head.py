"""A specialised head: says which of a few classes it is from a compact network's features, or that it is another."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from serving.common.tensors import softmax
from serving.errors import ModelError
from serving.weights import names, read_tensors
from specialization.rates import Rates

Weights = NDArray[np.float32]

OTHER = -1
"""A head's answer where it sees no class of its own, or is not sure."""


@dataclass(frozen=True)
class SpecialisedHead:
    """Multinomial logistic regression for n classes and "other", with standardisation folded in."""

    classes: tuple[int, ...]
    weights: NDArray[np.float32]
    """D × (n + 1), the last column for "other"."""
    bias: NDArray[np.float32]
    """n + 1."""
    least_confidence: float
    """Below it the head says "other"."""
    rates: Rates
    """Rates on rows that it was not trained on."""

    def decide(self, features: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """A class or ``OTHER`` for each of N × D features, and the probability of the likeliest class."""
        likely = probabilities(features, self.weights, self.bias)[:, :-1]
        best = likely.argmax(axis=1)
        confidence = likely[np.arange(len(best)), best]
        return np.where(confidence >= self.least_confidence, np.array(self.classes)[best], OTHER), confidence

    def to_bytes(self) -> bytes:
        """Encode as safetensors."""
        data: bytes = save(
            {
                "classes": np.array(self.classes, np.int64),
                "weights": np.ascontiguousarray(self.weights),
                "bias": np.ascontiguousarray(self.bias),
                "least_confidence": np.array([self.least_confidence], np.float64),
                "rates": np.array(msgspec.structs.astuple(self.rates), np.float64),
            }
        )
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> SpecialisedHead:
        """Read the output of ``to_bytes``; ModelError for anything else."""
        tensors = read_tensors(data, "a specialised head is damaged")
        _check(tensors)
        return cls(
            tuple(tensors["classes"].tolist()),
            tensors["weights"],
            tensors["bias"],
            float(tensors["least_confidence"][0]),
            Rates(*tensors["rates"].tolist()),
        )


def probabilities(features: NDArray[Any], weights: Weights, bias: Weights) -> NDArray[np.float32]:
    """N × (n + 1), each row adding up to 1; zeros where features are no numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        scores = features.astype(np.float32) @ weights + bias
        shares = softmax(scores)
    shares[np.isnan(shares)] = 0
    return shares


def _check(tensors: dict[str, NDArray[np.generic]]) -> None:
    if set(tensors) != {field.name for field in fields(SpecialisedHead)}:
        raise ModelError(f"a specialised head is damaged: it has {names(tensors)}")
    outputs = tensors["classes"].size + 1
    dims = len(tensors["weights"]) if tensors["weights"].ndim else 0
    wanted = {
        "classes": ((outputs - 1,), np.int64),
        "weights": ((dims, outputs), np.float32),
        "bias": ((outputs,), np.float32),
        "least_confidence": ((1,), np.float64),
        "rates": ((3,), np.float64),
    }
    for name, (shape, dtype) in wanted.items():
        values = tensors[name]
        if values.shape != shape or values.dtype != dtype or not np.isfinite(values.astype(np.float64)).all():
            raise ModelError(f"a specialised head is damaged: {name} is {values.dtype} of {values.shape}")
