"""The contract between the executor and every operator that is a node of a query's DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.plan import Decision
from serving.scheduling.urgency import Urgency


class Ahead(Protocol):
    """The frames that wait behind one, where its stream can be looked ahead in."""

    async def until(self, media_time_s: float) -> Sequence[Frame]:
        """Return the next frames of the run, in order, to the first at this time or later.

        Waits for them a moment; fewer where they do not come, or may not be in memory at once.
        """
        ...


@dataclass(slots=True)
class Call:
    """A node's task for one frame."""

    plan: Decision
    """The planner's decision: operators obey it, or ``decline`` the part that they cannot obey."""
    urgency: Urgency
    """The urgency of the frame, which operators hand to the engine."""
    declined: dict[str, str] = field(default_factory=dict)
    """Parts of the plan that were not obeyed, and why; part of the result."""
    objects: int | None = None
    """How many objects the decision was settled for; None: it did not depend on that."""
    expected_s: Mapping[str, float] = field(default_factory=dict)
    """What each model that there was to choose from seldom exceeds for so many objects; set by the planner."""
    halfway: Halfway | None = None
    """What the node's model has computed of regions that a shortcut has passed on; None where it begins with them."""
    ahead: Ahead | None = None
    """The frames that wait behind this one; None where the stream is analysed frame by frame as it comes."""
    skipped: bool | None = None
    """Set by a detector that may skip frames: whether it did not run on this one."""
    window: int | None = None
    """Set by it where it looked ahead: the first frame, by ``seq``, of those that it planned together."""

    reason: str = ""
    """Set by it: why it ran on this frame, or did not, in words."""

    @property
    def model(self) -> str | None:
        """The model chosen for this frame; None for operators without a network."""
        return self.plan.variant

    def settle(self, objects: int, may_answer: Callable[[str], bool]) -> None:
        """Decide between several models, once it is known how many objects are left to look at."""
        if self.plan.ladder and objects != self.objects:
            self.plan, self.objects = self.plan.settled(objects, may_answer), objects

    def decline(self, part: str, why: str) -> None:
        """Note why the operator does not obey a part of the plan: a kind of shortcut, or the ``variant``."""
        self.declined[part] = why


class Operator(Protocol):
    """One node of a query's DAG.

    Called on the event loop, once per analysed frame, with the regions that the node's input selects. Frames of one
    stream come in order and one at a time; frames of different streams concurrently. Must not block the loop for more
    than a millisecond: heavier work goes to ``serving.common.threads`` or the
    engine. An exception fails this frame only.
    """

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Return *new* regions (ids are set by the executor); change ``track_id`` and ``attributes`` in place."""
        ...

    def forget(self, stream: str) -> None:
        """Drop the state kept for a stream: it ended, or its partition moved away."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """An operator with something to load before the first frame."""

    async def prepare(self) -> None:
        """Load it; raises BadInput if that is not possible."""
        ...


@runtime_checkable
class Handles(Protocol):
    """An operator that knows what it does around its network."""

    @property
    def handling_s(self) -> float:
        """Processor seconds of that for one frame, on average."""
        ...


async def make_ready(operator: Operator) -> None:
    """Load what an operator needs before its first frame, if it needs anything."""
    if isinstance(operator, Prepares):
        await operator.prepare()
