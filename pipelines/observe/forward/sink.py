"""What a sink is, and how it says that a notification was not delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.wire.schema import Notification
from pipelines.observe.forward.sinks_file import SinkSpec


class Refused(Exception):
    """The sink does not take this notification, however often it is sent."""


class Failed(Exception):
    """This attempt failed, perhaps by the notification's fault: the sink may do better with another one."""


class Away(Exception):
    """The sink cannot be reached, or says that it cannot work now: no notification would get through."""

    def __init__(self, why: str, not_before_s: float = 0.0) -> None:
        """``not_before_s``: for how long the sink has asked not to be asked again."""
        super().__init__(why)
        self.not_before_s = not_before_s


@dataclass(frozen=True, slots=True)
class Picture:
    """The frame that caused an event, scaled down."""

    jpeg: bytes
    width: int
    height: int


class Sink(Protocol):
    """Where notifications go."""

    keeps_states: bool
    """Whether it keeps the states of streams for those who come later, and is to be told them at the beginning."""

    def restore(self, notice: Notification) -> None:
        """Take a stream's state as it is at the beginning, where states are kept."""
        ...

    async def deliver(self, notice: Notification, picture: Picture | None) -> None:
        """Return once the other side has taken it; raises ``Refused``, ``Failed`` or ``Away``."""
        ...

    async def run(self) -> None:
        """What the sink does beside, until it is cancelled."""
        ...


Sinks = Sequence[tuple[SinkSpec, Sink]]
