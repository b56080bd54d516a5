"""The parts that all partitions of a worker share, and how one acts on its transport."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from operators.observer import UNOBSERVED, Observer
from pipelines.partition.message import Message
from pipelines.partition.publisher import Publisher
from pipelines.partition.queries import Queries
from pipelines.partition.sampling import MotionGates
from pipelines.partition.tally import MissingFrames, Tally
from pipelines.settings import StreamBounds

WINDOW = 32
"""Frames of one partition in work at which it is no longer fetched from. Images are decoded when their turn comes."""
WINDOW_BYTES = 32 << 20
"""Bytes of their messages at which it is no longer fetched from."""


@dataclass(frozen=True)
class SharedParts:
    """The parts that all partitions of a worker share."""

    frames: str
    """The topic."""
    publisher: Publisher
    queries: Queries
    bounds: StreamBounds = field(default_factory=StreamBounds)
    tally: Tally = field(default_factory=Tally)
    observer: Observer = UNOBSERVED
    window: int = WINDOW
    """Frames of one partition in work at which it is no longer fetched from."""
    missing: MissingFrames = field(default_factory=MissingFrames)
    gates: MotionGates = field(default_factory=MotionGates)


@dataclass(frozen=True)
class Valve:
    """How a partition acts on the transport it is read from."""

    acknowledge: Callable[[Message], None]
    hold: Callable[[], None]
    """Fetch no more of this partition; may be called while it is held already."""
    release: Callable[[], None]
    fail: Callable[[Exception], None]
    """Called with what keeps the partition from going on."""
