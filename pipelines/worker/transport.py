"""What carries a worker's messages, as the worker sees it: one object for each kind of address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import faust

from pipelines.kafka.rights import Needs
from pipelines.partition.publisher import Publisher
from pipelines.partition.resume import Resume
from pipelines.partition.stream_state import StateConfig, StateStore


class Transport(Protocol):
    """Where frames come from and results go to. Nothing is opened before ``wait``."""

    @property
    def url(self) -> str:
        """Fit for messages and logs: without credentials."""
        ...

    @property
    def urls(self) -> list[str]:
        """One address for each server, as Faust wants them."""
        ...

    @property
    def credentials(self) -> Any:
        """As Faust wants them; None where there are none."""
        ...

    def attach(self, app: faust.App) -> None:
        """Give an app that is not started the driver for these addresses."""
        ...

    async def wait(self, needs: Needs, give_up_s: float) -> None:
        """Return once it answers and has what is needed; raises ``Unavailable`` or ``BadInput``."""
        ...

    async def begin_at_the_end(self, needs: Needs, topic: str, give_up_s: float) -> None:
        """Where the group of ``needs`` has never begun, have it begin with what comes next; raises as ``wait``."""
        ...

    def begun(self, topic: str) -> None:
        """The worker analyses the topic: say so where an operator wants to know."""
        ...

    def resume(self, query: str, topic: str, flush: Callable[[], Awaitable[None]]) -> Resume:
        """What earlier lives of a query's worker have answered on its topic of results."""
        ...

    def state(self, query: str, what: StateConfig, publisher: Publisher) -> StateStore:
        """Where the states of a query's streams survive their worker."""
        ...
