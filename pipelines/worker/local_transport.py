"""``local://``: a worker inside the process of its sources; all it knows ends with the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import faust

from pipelines.kafka.rights import Needs
from pipelines.partition.publisher import Publisher
from pipelines.partition.resume import NothingToResume
from pipelines.partition.stream_state import NoStateStore, StateConfig


@dataclass(frozen=True)
class LocalTransport:
    """``local://name``. Faust finds the driver by its entry point."""

    name: str

    @property
    def url(self) -> str:
        """The address."""
        return f"local://{self.name}"

    @property
    def urls(self) -> list[str]:
        """The one address."""
        return [self.url]

    @property
    def credentials(self) -> None:
        """There are none."""

    def attach(self, app: faust.App) -> None:
        """Nothing."""

    async def wait(self, needs: Needs, give_up_s: float) -> None:
        """Nothing: it is there."""

    async def begin_at_the_end(self, needs: Needs, topic: str, give_up_s: float) -> None:
        """Nothing: what is there has come since the process began."""

    def begun(self, topic: str) -> None:
        """Nothing."""

    def resume(self, query: str, topic: str, flush: Callable[[], Awaitable[None]]) -> NothingToResume:
        """Topics live and die with the process."""
        return NothingToResume()

    def state(self, query: str, what: StateConfig, publisher: Publisher) -> NoStateStore:
        """Nothing is kept."""
        return NoStateStore()
