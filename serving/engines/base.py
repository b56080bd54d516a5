"""The one protocol of all runtimes: a network as a chain of segments, loaded once and run piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from serving.errors import ModelError

Array = NDArray[Any]
Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")

S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a segment takes: dtype and shape; None stands for any size, the first axis is the batch."""

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

    def __str__(self) -> str:
        return f"{self.dtype.name} " + " × ".join(
            ["N", *("any" if dim is None else str(dim) for dim in self.shape[1:])]
        )


class Engine(Protocol[S_contra]):
    """One network in one runtime at one precision.

    Segments are ONNX models (bytes) or PyTorch modules, each with one input. The first output of a segment is the next
    one's input; further outputs are answers (a head's scores, a detector's boxes). ``run`` may be called from several
    threads at once.
    """

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """What each segment takes; empty before ``load``."""
        ...

    def load(self, segments: Sequence[S_contra]) -> None:
        """Open every segment; ModelError where the runtime cannot. Called once."""
        ...

    def run(self, segment: int, batch: Array) -> list[Array]:
        """Outputs of one segment in its graph's order, first axis as long as the batch's, which may be 0.

        ModelError for a wrong shape or type or an engine that is closed; SluiceError where the network fails.
        """
        ...

    def memory_bytes(self) -> int:
        """Resident memory that this network took, measured while it was loaded and first run."""
        ...

    def close(self) -> None:
        """Give the memory back; the engine cannot be used afterwards. Calling it again does nothing."""
        ...
