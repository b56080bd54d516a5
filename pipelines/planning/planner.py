"""The planner of a node's work for a frame: which model, which shortcuts, in how much time. Pure.

The executor tells a planner when a frame begins, asks it before each node, and tells it when a node has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from operators.decision import FIRST_LISTED, Decision
from operators.wire.schema import FrameId


class Start(NamedTuple):
    """A frame whose nodes are about to run; times are seconds on the monotonic clock."""

    stream: str
    now_s: float
    deadline_s: float
    droppable: bool
    """Whether the stream's frames may be dropped where they cannot be in time."""
    waiting_s: Sequence[float]
    """Deadlines of the stream's frames that wait behind it, in their order."""
    crowded: bool
    """Whether so many wait that the next ones may find no room."""
    frame: FrameId | None = None
    unhurried: bool = False
    """Whether the stream's frames wait for the analysis, so that none of them is late."""


class Step(NamedTuple):
    """A node that is about to run for a frame."""

    stream: str
    node: str
    models: Sequence[str]
    """Those that the query lists."""
    now_s: float
    deadline_s: float
    after_s: float
    """The least time that the nodes after this one need."""
    idle: Collection[str] = ()
    """Those of them that are known to have nothing to do for this frame."""

    @property
    def budget_ms(self) -> float:
        """Time left, less what the nodes after this one need."""
        return (self.deadline_s - self.now_s - self.after_s) * 1000


class Planner:
    """Called on the event loop, once for each frame and node: must answer within microseconds.

    This one has the first model run that the query lists, and every shortcut: for queries that leave nothing to plan.
    """

    def arrived(self, stream: str, now_s: float) -> None:
        """A frame of the stream has arrived; frames that are dropped count too."""

    def begins(self, start: Start) -> None:
        """The nodes of a frame are about to run; frames of one stream come one at a time."""

    def plan(self, step: Step) -> Decision:
        """The decision for one node of the stream's latest frame."""
        return Decision(step.models[0] if step.models else None, budget_ms=step.budget_ms, why=FIRST_LISTED)

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        """A node of the stream's latest frame has ended, which has carried out this plan.

        Returns the seconds that each model which there was to choose from seldom exceeds for so many objects.
        """
        return {}

    def forget(self, stream: str) -> None:
        """The stream ended, or its partition moved away."""


class PlannerAround(Planner):
    """Asks another one; those who change something of its decisions extend it."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    def arrived(self, stream: str, now_s: float) -> None:
        self._planner.arrived(stream, now_s)

    def begins(self, start: Start) -> None:
        self._planner.begins(start)

    def plan(self, step: Step) -> Decision:
        return self._planner.plan(step)

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        return self._planner.ended(stream, node, took_s, plan)

    def forget(self, stream: str) -> None:
        self._planner.forget(stream)
