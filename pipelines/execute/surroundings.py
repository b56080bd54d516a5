"""An executor's settings besides the query: limits of its streams, and what goes on around it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from operators.frames.frame import Frame
from operators.observer import UNOBSERVED, Observer
from operators.wire.schema import Result
from pipelines.execute.frame_room import FrameRoom
from pipelines.execute.lanes import Lanes
from pipelines.planning.stage_shares import Curves, unknown
from pipelines.query.nodes import PolicyName
from serving.common.clock import SYSTEM, Clock

FinalStep = Callable[[Frame, Result], Awaitable[None]]
"""Gets every analysed frame and its result before that is published; the stream's next frame waits for it."""


@dataclass(frozen=True)
class Limits:
    policies: Mapping[str, PolicyName] = field(default_factory=dict)
    """Overload policies by stream; other streams have ``block``."""
    room: FrameRoom = field(default_factory=FrameRoom)
    """Memory for decoded frames."""
    ahead: Collection[str] = ()
    """Streams that operators may look ahead in, where their frames come raw."""
    unhurried: Collection[str] = ()
    """Streams whose frames wait for the analysis, so that their age says nothing."""
    lanes: Lanes | None = None
    """Those of several executors, which have a memory for frames of their own; None: the executor has its own."""


@dataclass(frozen=True)
class Surroundings:
    """An executor's observers, and the rest that goes on around it."""

    final_steps: Sequence[FinalStep] = ()
    clock: Clock = SYSTEM
    observer: Observer = UNOBSERVED
    published: Sequence[Callable[[Result], None]] = ()
    """Called with every result that has been published, also of frames that were dropped or have failed."""
    curves: Curves = unknown
    """The times of models, as far as they are known."""
    background: bool = False
    """Whether networks look at its frames only while no other frame waits for them."""


ALONE = Surroundings()
"""Nothing but the executor."""
