"""Networks that run as one batch: a single one, or several that share their first layers (Shen, 2019, §3.5.2).

Networks made by transfer learning differ in their last layers only. What they share runs once for the items of all of
them together; then each one's own layers run on its own items, one network after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.engines.network import EngineNetwork, run_in_steps


class GroupRequest(NamedTuple):
    model: str
    batch: Array
    policy: RowPolicy | None = None
    """For a network with cuts; None: all rows run on, nobody answers."""


class Group(Protocol):
    """One or more networks that the backend runs together."""

    batch_limit: int | None
    """The most items of one run; None: any number."""

    def check(self, model: str, batch: Array) -> None:
        """Raise ModelError where a model does not take a batch."""

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """The outputs for every request; networks see at most ``step`` items at a time."""

    def memory_bytes(self) -> int:
        """Resident memory of all its parts, measured."""

    def close(self) -> None:
        """Give the memory back."""


class NetworkGroup:
    """A network by itself, or several networks and the layers that they have in common."""

    def __init__(self, network: EngineNetwork, suffixes: Mapping[str, EngineNetwork] = {}) -> None:
        """``network``: the whole one, or the common layers; ``suffixes``: by model, each taking their first output."""
        self._network, self._suffixes = network, suffixes
        limits = [each.batch_limit for each in (network, *suffixes.values()) if each.batch_limit is not None]
        self.batch_limit = min(limits, default=None)

    def check(self, model: str, batch: Array) -> None:
        self._network.check(batch)

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """Run the network once for all requests, then the suffix of every model for its own."""
        batches = [each.batch for each in asked]
        outputs = run_in_steps(self._network.run, together(batches), step)
        if not self._suffixes:
            return shared_out(outputs, batches)
        rows = [parts[0] for parts in shared_out(outputs[:1], batches)]
        answers: list[list[Array]] = [[] for _ in asked]
        for model in dict.fromkeys(each.model for each in asked):
            places = [place for place, each in enumerate(asked) if each.model == model]
            mine = [rows[place] for place in places]
            outputs = run_in_steps(self._suffixes[model].run, together(mine), step)
            for place, parts in zip(places, shared_out(outputs, mine), strict=True):
                answers[place] = parts
        return answers

    def memory_bytes(self) -> int:
        return sum(part.memory_bytes() for part in (self._network, *self._suffixes.values()))

    def close(self) -> None:
        for part in (self._network, *self._suffixes.values()):
            part.close()


def shared_out(outputs: Sequence[Array], batches: Sequence[Array]) -> list[list[Array]]:
    """The rows of every output that belong to each batch."""
    ends = np.cumsum([len(batch) for batch in batches])[:-1]
    return [list(parts) for parts in zip(*(np.split(output, ends) for output in outputs), strict=True)]


def together(batches: Sequence[Array]) -> Array:
    """The items of all batches as one; a batch alone is not copied."""
    return batches[0] if len(batches) == 1 else np.concatenate(batches)
