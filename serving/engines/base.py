"""The one protocol of all runtimes: a network as a chain of segments, loaded once and run piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from serving.common.tensors import Array, TensorSpec


class Engine(Protocol):
    """One network in one runtime at one precision.

    Segments are ONNX models, each with one input. The first output of a segment is the next
    one's input; further outputs are answers (a head's scores, a detector's boxes). ``run`` may be called from several
    threads at once.
    """

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """The input of each segment; empty before ``load``."""
        ...

    def load(self, segments: Sequence[bytes]) -> None:
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
