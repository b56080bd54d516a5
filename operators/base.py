"""The contract between the executor and every operator that is a node of a query's DAG."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from operators.decision import Decision
from operators.frames.frame import Frame, Region
from serving.errors import BadInput, SluiceError
from serving.scheduling.requests import Urgency


class Ahead(Protocol):
    """The frames that wait behind one, where its stream can be looked ahead in."""

    async def until(self, media_time_s: float) -> Sequence[Frame]:
        """Return the next frames of the run, in order, to the first at this time or later.

        Waits for them a moment; fewer where they do not come, or may not be in memory at once.
        """


@dataclass(frozen=True, slots=True)
class Call:
    """A node's task for one frame."""

    decision: Decision
    """The planner's decision: operators obey it, or say in their answer which part they have ``declined``."""
    urgency: Urgency
    """The urgency of the frame, which operators hand to the engine."""
    ahead: Ahead | None = None
    """The frames that wait behind this one; None where the stream is analysed frame by frame as it comes."""
    detail: int | None = None
    """The longer side of what the network is to be shown of the frame, pixels; None: as the node itself says."""
    unhurried: bool = False
    """Whether the stream waits for the analysis, so that none of its frames is late."""

    @property
    def model(self) -> str | None:
        """The model chosen for this frame; None for operators without a network."""
        return self.decision.variant


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """A node's answer for one frame, and how far it obeyed the decision; part of the result."""

    regions: Sequence[Region] = ()
    """*New* regions."""
    decision: Decision | None = None
    """The decision as it was carried out, chosen for the objects that there were; None: as it was given."""
    declined: Mapping[str, str] = field(default_factory=dict)
    """Parts of the decision that were not obeyed, a kind of shortcut or the ``variant``, and why."""
    skipped: bool | None = None
    """Whether a detector that may skip frames did not run on this one."""
    window: int | None = None
    """The first frame, by ``seq``, of those that a detector planned together, where it looked ahead."""
    detail: int | None = None
    """The longer side of what its network is shown, in pixels, where that is chosen for the stream."""
    reason: str = ""
    """Why such a detector ran on this frame, or did not, in words."""


class Operator(Protocol):
    """One node of a query's DAG.

    Called on the event loop, once per analysed frame, with the regions that the node's input selects. Frames of one
    stream come in order and one at a time; frames of different streams concurrently. Must not block the loop for more
    than a millisecond: heavier work goes to ``serving.common.threads`` or the
    engine. An exception fails this frame only.
    """

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region] | NodeAnswer:
        """Return *new* regions (ids are set by the executor); change ``track_id`` and ``attributes`` in place.

        Regions alone are the answer of a node that has obeyed the decision.
        """

    def forget(self, stream: str) -> None:
        """Drop the state kept for a stream: it ended, or its partition moved away."""


@runtime_checkable
class Prepares(Protocol):
    """An operator with something to load before the first frame."""

    async def prepare(self) -> None:
        """Load it; raises BadInput if that is not possible."""


@runtime_checkable
class Adds(Protocol):
    """An operator that notes something of its own query's on what another one finds, which several may share."""

    @property
    def within(self) -> Operator:
        """The one that finds."""

    def add(self, frame: Frame, regions: Sequence[Region]) -> None:
        """Note it on these regions."""


@runtime_checkable
class Handles(Protocol):
    """An operator that knows what it does around its network."""

    @property
    def handling_s(self) -> float:
        """Processor seconds of that for one frame, on average."""


async def ask(operator: Operator, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
    """An operator's answer, in the one form whatever it returns."""
    try:
        found = await operator.process(frame, regions, call)
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # such as the panic of a library in Rust: the stream's task would end of it
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
            raise
        raise RuntimeError(f"process has raised {type(error).__name__}: {error}") from error
    answer = found if isinstance(found, NodeAnswer) else NodeAnswer(found)
    if not isinstance(answer.regions, list | tuple) or not all(isinstance(each, Region) for each in answer.regions):
        raise TypeError(f"process has returned {found!r:.100}: a list of new regions, or a NodeAnswer with one")
    return answer


def shared_part(operator: Operator) -> Operator:
    """The part of an operator that is the same for several queries, if they ask for the same."""
    return operator.within if isinstance(operator, Adds) else operator


async def make_ready(operator: Operator) -> None:
    """Load what an operator needs before its first frame, if it needs anything; raises SluiceError alone."""
    if not isinstance(operator, Prepares):
        return
    try:
        await operator.prepare()
    except SluiceError:
        raise
    except Exception as error:  # an operator of the user's may raise anything
        where = f"operator {type(operator).__name__}"
        raise BadInput(f"{where}: prepare has raised {type(error).__name__}: {error}") from error
