"""The contract between the executor and every operator that is a node of a query's DAG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.frame import Frame, Region
from serving.urgency import Urgency


@dataclass(frozen=True, slots=True)
class Call:
    """What the planner decided for one node of one frame."""

    model: str | None
    """The model chosen for this frame; None for operators without a network."""
    urgency: Urgency
    """How much the frame hurries: operators hand it to the engine."""


class Operator(Protocol):
    """One node of a query's DAG.

    Called on the event loop, once per analysed frame, with the regions that the node's input selects. Frames of one
    stream come in order and one at a time; frames of different streams concurrently. Must not block the loop for more
    than a millisecond: heavier work goes to ``serving.threads`` or the engine. An exception fails this frame only.
    """

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Return *new* regions (ids are set by the executor); change ``track_id`` and ``attributes`` in place."""
        ...

    def forget(self, stream: str) -> None:
        """Drop the state kept for a stream: it ended, or its partition moved away."""
        ...
