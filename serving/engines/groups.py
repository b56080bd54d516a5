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
from serving.engines.network import Network, run_in_steps


class GroupRequest(NamedTuple):
    """A request."""

    model: str
    batch: Array
    policy: RowPolicy | None = None
    """For a network with cuts; None: all rows run on, nobody answers."""


class Group(Protocol):
    """One or more networks that the backend runs together."""

    @property
    def batch_limit(self) -> int | None:
        """The most items of one run; None: any number."""
        ...

    def check(self, model: str, batch: Array) -> None:
        """Raise ModelError where a model does not take a batch."""
        ...

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """The outputs for every request; networks see at most ``step`` items at a time."""
        ...

    def memory_bytes(self) -> int:
        """Resident memory of all its parts, measured."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


class Solo:
    """One network by itself."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.batch_limit = network.batch_limit

    def check(self, model: str, batch: Array) -> None:
        self._network.check(batch)

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        batches = [each.batch for each in asked]
        return shared_out(run_in_steps(self._network.run, together(batches), step), batches)

    def memory_bytes(self) -> int:
        return self._network.memory_bytes()

    def close(self) -> None:
        self._network.close()


class SharedPrefix:
    """Several networks and the layers that they have in common; all take the same input."""

    def __init__(self, prefix: Network, suffixes: Mapping[str, Network]) -> None:
        """``suffixes``: by model, each taking the first output of ``prefix``."""
        self._prefix, self._suffixes = prefix, suffixes
        limits = [each.batch_limit for each in (prefix, *suffixes.values()) if each.batch_limit is not None]
        self.batch_limit = min(limits, default=None)

    def check(self, model: str, batch: Array) -> None:
        self._prefix.check(batch)

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """The prefix once for all requests, then the suffix of every model for its own."""
        batches = [each.batch for each in asked]
        features = run_in_steps(self._prefix.run, together(batches), step)[:1]
        rows = [parts[0] for parts in shared_out(features, batches)]
        answers: list[list[Array]] = [[] for _ in asked]
        for model in dict.fromkeys(each.model for each in asked):
            places = [place for place, each in enumerate(asked) if each.model == model]
            mine = [rows[place] for place in places]
            outputs = run_in_steps(self._suffixes[model].run, together(mine), step)
            for place, parts in zip(places, shared_out(outputs, mine), strict=True):
                answers[place] = parts
        return answers

    def memory_bytes(self) -> int:
        return sum(part.memory_bytes() for part in (self._prefix, *self._suffixes.values()))

    def close(self) -> None:
        for part in (self._prefix, *self._suffixes.values()):
            part.close()


def shared_out(outputs: Sequence[Array], batches: Sequence[Array]) -> list[list[Array]]:
    """The rows of every output that belong to each batch."""
    ends = np.cumsum([len(batch) for batch in batches])[:-1]
    return [list(parts) for parts in zip(*(np.split(output, ends) for output in outputs), strict=True)]


def together(batches: Sequence[Array]) -> Array:
    """The items of all batches as one; a batch alone is not copied."""
    return batches[0] if len(batches) == 1 else np.concatenate(batches)
