"""What a node is to do for a frame: which model, which shortcuts, in how much time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from operators.plan import Decision


class Planner(Protocol):
    """Asked before every node of every frame, on the event loop: must answer within microseconds."""

    def plan(self, stream: str, node: str, models: Sequence[str], budget_ms: float) -> Decision:
        """The decision for one node.

        ``models``: those that the query lists. ``budget_ms``: time left, less what the nodes after this one need.
        """
        ...


class FirstListed:
    """The first model that the query lists, and every shortcut: the order in the file is the user's preference."""

    def plan(self, stream: str, node: str, models: Sequence[str], budget_ms: float) -> Decision:
        """See ``Planner``."""
        return Decision(models[0] if models else None, budget_ms=budget_ms, why="first listed")
