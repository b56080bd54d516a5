"""A network in two halves under two names: a run of the second goes on where the first ended."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import Exits
from serving.engines.groups import GroupRequest, shared_out, together
from serving.engines.halves import Halves
from serving.engines.network import run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine

if TYPE_CHECKING:
    import onnx


class HalvedNetwork:
    """A ``Group`` of both halves, in one engine: activations stay in the runtime's own order."""

    def __init__(
        self,
        names: Halves,
        segments: Sequence[onnx.ModelProto],
        exits: Exits,
        engine: OnnxRuntimeEngine,
        max_batch: int | None = None,
    ) -> None:
        """``segments`` as ``graphs.halves.halves`` makes them; ``exits``: those of the rest. Raises ModelError."""
        self._names, self._engine = names, engine
        self._rest = ExitNetwork(names.rest, segments, exits, engine, max_batch, first=1)
        self.batch_limit = self._rest.batch_limit

    def check(self, model: str, batch: Array) -> None:
        """Raise ModelError where the half does not take the batch."""
        if model == self._names.first:
            self._engine.inputs[0].check(batch, f"model {model!r}")
        else:
            self._rest.check(batch)

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """See ``Group``: one batch for each half."""
        answers: list[list[Array]] = [[] for _ in asked]
        for model in dict.fromkeys(each.model for each in asked):
            places = [place for place, each in enumerate(asked) if each.model == model]
            batches = [asked[place].batch for place in places]
            run = partial(self._engine.run, 0) if model == self._names.first else self._rest.run
            outputs = run_in_steps(run, together(batches), step)
            for place, parts in zip(places, shared_out(outputs, batches), strict=True):
                answers[place] = parts
        return answers

    def memory_bytes(self) -> int:
        """That of the engine, which holds both."""
        return self._rest.memory_bytes()

    def close(self) -> None:
        self._rest.close()
