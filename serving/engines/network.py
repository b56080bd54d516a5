"""An opened network, whichever runtime is inside, and how its run is ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from serving.common.tensors import Array
from serving.engines.engine import Engine, joined
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx


_under_way: dict[int, Callable[[], None]] = {}
"""By thread: what ends its run."""


@contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """While this lasts, ``interrupt`` may call ``end`` from another thread."""
    thread = threading.get_ident()
    _under_way[thread] = end
    try:
        yield
    finally:
        del _under_way[thread]


def interrupt(thread: threading.Thread) -> None:
    """Ask the run under way in a thread to end; does nothing where there is none or it cannot be asked."""
    end = _under_way.get(thread.ident or 0)
    if end is not None:
        end()


class EngineNetwork:
    """A graph, or a part of one, in an engine."""

    def __init__(self, name: str, model: onnx.ModelProto, engine: Engine, max_batch: int | None = None) -> None:
        """Load it; raises ModelError. ``name``: of the catalogue's model, for messages."""
        self._name, self._engine = name, engine
        engine.load([model.SerializeToString()])
        fixed = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1
        self.batch_limit = 1 if fixed else max_batch

    def check(self, batch: Array) -> None:
        """Raise ModelError where shape or type is not the graph's, or where there is no item."""
        try:
            self._engine.inputs[0].check(batch, f"model {self._name!r}")
        except ModelError as error:
            raise ModelError(f"{error}: check 'input' in its model.yaml") from None
        if not len(batch):
            raise ModelError(f"model {self._name!r} was given an empty batch")

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the graph's order, first axis as long as the batch's."""
        return self._engine.run(0, batch)

    def memory_bytes(self) -> int:
        """Resident memory that it took, measured."""
        return self._engine.memory_bytes()

    def close(self) -> None:
        self._engine.close()


def run_in_steps(run: Callable[[Array], list[Array]], batch: Array, step: int) -> list[Array]:
    """Run a batch of any length, at most ``step`` items at a time, and join the pieces."""
    pieces = [run(batch[start : start + step]) for start in range(0, len(batch), step)]
    if len(pieces) == 1:
        return pieces[0]
    return [joined(column) for column in zip(*pieces, strict=True)]
