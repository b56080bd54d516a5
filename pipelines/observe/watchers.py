"""Those who watch a process from outside: the file of ``--alive``, and readers of its metrics and health over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from operators.observer import Observer, Observers
from pipelines.health.heartbeat import Heartbeat
from pipelines.observe.web.listen import Listen


class HeartbeatFile(Observer):
    """Has a file say how the process is, as it is told every second."""

    def __init__(self, alive: Path | None) -> None:
        self._heart = Heartbeat(alive)

    def worker_waits(self, reason: str) -> None:
        self._heart.ail(reason)

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        if problem is None:
            self._heart.beat()
        else:
            self._heart.ail(problem)


@asynccontextmanager
async def watched(listen: Listen | None, alive: Path | None) -> AsyncIterator[Observers]:
    """Tell them how the process is while the block runs; raises BadInput where one of them cannot be told.

    ``listen``: where metrics and health are served; ``alive``: the file; None: there is none.
    """
    file = HeartbeatFile(alive)
    if listen is None:
        yield Observers([file])
        return
    from pipelines.observe.station import Station  # aiohttp and Prometheus

    station = Station(listen)
    async with station.open():
        yield Observers([file, *station.observers])
