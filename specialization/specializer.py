"""Who trains heads: one job at a time, in the background, beside whatever else the process or the machine does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from serving.errors import SluiceError
from specialization.head import SpecialisedHead
from specialization.job import Job, ProfileJob, give_way, profile, train
from specialization.process_specializer import CLOSED, ProcessSpecializer
from specialization.templates import Measured

__all__ = ["Job", "ProcessSpecializer", "ProfileJob", "Specializer", "ThreadSpecializer"]

T = TypeVar("T")


class Specializer(Protocol):
    """Trains heads."""

    async def train(self, job: Job) -> SpecialisedHead:
        """The head, after the jobs asked for before; raises SluiceError where there can be none."""
        ...

    async def profile(self, job: ProfileJob) -> tuple[Measured, ...]:
        """Rates by tolerance and number of classes, likewise."""
        ...

    async def close(self) -> None:
        """Give up what is being trained."""
        ...


class ThreadSpecializer:
    """Trains in a thread of its own: for a process that analyses little, as ``sluice run`` does."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "specializer", initializer=give_way)
        self._closed = False

    async def train(self, job: Job) -> SpecialisedHead:
        """See ``Specializer``."""
        return await self._beside(partial(train, job))

    async def profile(self, job: ProfileJob) -> tuple[Measured, ...]:
        """See ``Specializer``."""
        return await self._beside(partial(profile, job))

    async def close(self) -> None:
        """What is being trained ends unheard."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _beside(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise SluiceError(CLOSED)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
