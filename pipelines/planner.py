"""Which model a node runs for a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Planner(Protocol):
    """Asked before every node of every frame, on the event loop: must answer within microseconds."""

    def choose(self, stream: str, node: str, models: Sequence[str], remaining_ms: float) -> str | None:
        """The model to run, of those the query lists; None where the node has no network."""
        ...


class FirstListed:
    """The first model that the query lists: the order in the file is the user's preference."""

    def choose(self, stream: str, node: str, models: Sequence[str], remaining_ms: float) -> str | None:
        """See ``Planner``."""
        return models[0] if models else None
