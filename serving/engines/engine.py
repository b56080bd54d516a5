"""The common part of all engines: it opens, checks, measures and closes a network's segments; and the memory these
take.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import psutil

from serving.common.explain import first_line
from serving.common.libraries import give_back
from serving.common.tensors import Array, TensorSpec
from serving.errors import ModelError, SluiceError


def resident_bytes() -> int:
    """Memory of this process that lies in RAM; everything it does at the moment counts."""
    return int(psutil.Process().memory_info().rss)


class Segment(Protocol):
    """A segment that a runtime has opened; any number of threads may run it."""

    @property
    def input(self) -> TensorSpec:
        """The input; a first axis of 1 stands for a graph that runs one item at a time."""

    def run(self, batch: Array) -> list[Array]:
        """Outputs for one item or more, of the right shape and type."""


class Engine(ABC):
    """One network in one runtime at one precision, but for the opening of one segment, which is the runtime's part.

    Segments are ONNX models, each with one input. The first output of a segment is the next one's input; further
    outputs are answers (a head's scores, a detector's boxes). ``run`` may be called from several threads at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._segments: Sequence[Segment] = ()
        self._closed = False
        self._memory_bytes = 0
        self.inputs: Sequence[TensorSpec] = ()
        """The input of each segment; empty before ``load``."""

    @abstractmethod
    def _open(self, segment: bytes) -> Segment:
        """Open one segment; any exception of the runtime."""

    def load(self, segments: Sequence[bytes]) -> None:
        """Open every segment and run each once; ModelError where the runtime cannot. Called once."""
        before = self.used_bytes()
        try:
            self._segments = [self._opened(index, segment, len(segments)) for index, segment in enumerate(segments)]
            self.inputs = [replace(each.input, shape=(None, *each.input.shape[1:])) for each in self._segments]
            self._first_runs()
        except SluiceError as error:
            self.close()
            raise ModelError(str(error)) from error
        # What else the process does meanwhile is measured too, and memory that lay free may be used again unseen.
        self._memory_bytes = max(self.used_bytes() - before, sum(map(len, segments)))

    def run(self, segment: int, batch: Array) -> list[Array]:
        """Outputs of one segment in its graph's order, first axis as long as the batch's, which may be 0.

        ModelError for a wrong shape or type or an engine that is closed; SluiceError where the network fails.
        """
        segments = self._segments
        if not segments:
            raise ModelError(f"model {self._name!r} is {'closed' if self._closed else 'not loaded'}")
        opened, what = segments[segment], self._what(segment, len(segments))
        self.inputs[segment].check(batch, what)
        if not len(batch):
            # Runtimes differ on empty batches: one item tells the outputs' shapes.
            return [output[:0] for output in self.run(segment, np.zeros((1, *batch.shape[1:]), batch.dtype))]
        try:
            outputs = opened.run(batch) if opened.input.shape[0] is None else _one_by_one(opened, batch)
        except Exception as error:  # runtimes' exceptions share no base but Exception
            raise SluiceError(f"{what} failed: {first_line(error)}") from error
        for index, output in enumerate(outputs):
            if not isinstance(output, np.ndarray) or output.dtype == object:
                raise SluiceError(f"{what}: output {index} is no array of numbers: export it without")
            if output.ndim == 0 or len(output) != len(batch):
                shape = " × ".join(map(str, output.shape)) or "a number"
                remedy = "the first axis of each output must be the batch: export it so"
                raise SluiceError(f"{what}: output {index} is {shape} for {len(batch)} items; {remedy}")
        return outputs

    def memory_bytes(self) -> int:
        """Memory taken by loading and by the first runs, at least the weights' size; 0 once closed.

        Other work of the process at the time of loading is counted too: measure where little else happens.
        """
        return self._memory_bytes

    def used_bytes(self) -> int:
        """Memory in use where networks of this engine lie, after what is free has been given back."""
        give_back()
        return resident_bytes()

    def close(self) -> None:
        """Give the memory back as soon as the runs under way have ended. Calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        self._segments, self._memory_bytes = (), 0
        give_back()

    def _opened(self, index: int, segment: bytes, count: int) -> Segment:
        what = self._what(index, count)
        try:
            opened = self._open(segment)
        except ModelError as error:
            raise ModelError(f"{what}: {error}") from error
        except Exception as error:  # runtimes' exceptions share no base but Exception
            raise ModelError(f"{what} cannot be opened: {first_line(error)}") from error
        if (fixed := opened.input.shape[0]) not in (None, 1):
            raise ModelError(f"{what}: fixed batch of {fixed}; export it with one of 1 or a dynamic one")
        return opened

    def _first_runs(self) -> None:
        for index, spec in enumerate(self.inputs):
            for items in self._first_sizes() if spec.sizes_known else ():
                self.run(index, spec.blank(items))

    def _first_sizes(self) -> Sequence[int]:
        """Sizes of batch at which each segment is run when it is loaded."""
        return (1,)

    def _what(self, index: int, count: int) -> str:
        return f"model {self._name!r}" + (f", segment {index}" if count > 1 else "")


def _one_by_one(segment: Segment, batch: Array) -> list[Array]:
    rows = [segment.run(batch[index : index + 1]) for index in range(len(batch))]
    return [joined(column) for column in zip(*rows, strict=True)]


def joined(pieces: Sequence[Array]) -> Array:
    """Pieces of a batch as one array; a piece alone is not copied.

    Zeros are appended where pieces vary in length, as they do when the graph itself suppresses overlaps.
    """
    if len(pieces) == 1:
        return pieces[0]
    if len({piece.shape[1:] for piece in pieces}) > 1:
        pieces = _padded(pieces)
    return np.concatenate(pieces)


def _padded(pieces: Sequence[Array]) -> list[Array]:
    longest = [max(sizes) for sizes in zip(*(piece.shape[1:] for piece in pieces), strict=True)]
    return [
        np.pad(piece, [(0, 0), *((0, most - size) for most, size in zip(longest, piece.shape[1:], strict=True))])
        for piece in pieces
    ]
