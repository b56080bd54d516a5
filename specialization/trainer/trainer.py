"""Specializers train heads in the background, one job at a time, in a thread or in a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from learning.job_child import give_way
from serving.common.threads import ThreadTime
from serving.errors import SluiceError
from specialization.heads.head import SpecialisedHead
from specialization.rates import MeasuredRates
from specialization.trainer.job import Job, Paid, ProfileJob, profile, train, unpaid
from specialization.trainer.process import ProcessSpecializer

__all__ = ["Job", "ProcessSpecializer", "ProfileJob", "Specializer", "ThreadSpecializer"]

T = TypeVar("T")


class Specializer(Protocol):
    """Trains heads."""

    async def train(self, job: Job, paid: Paid = unpaid) -> SpecialisedHead:
        """Train a head once earlier jobs are done; raises SluiceError where that is impossible.

        ``paid`` is called with the job's processor seconds, whether it succeeds or not, unless its process has died.
        """
        ...

    async def profile(self, job: ProfileJob, paid: Paid = unpaid) -> tuple[MeasuredRates, ...]:
        """Measure rates by tolerance and number of classes once earlier jobs are done; ``paid``: as above."""
        ...

    async def close(self) -> None:
        """Give up the job under way; later jobs are refused."""
        ...


class ThreadSpecializer:
    """Trains in a thread of its own, for a process that analyses little, as ``sluice run`` does."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "specializer", initializer=give_way)
        self._closed = False

    async def train(self, job: Job, paid: Paid = unpaid) -> SpecialisedHead:
        return await self._in_thread(partial(train, job), paid)

    async def profile(self, job: ProfileJob, paid: Paid = unpaid) -> tuple[MeasuredRates, ...]:
        return await self._in_thread(partial(profile, job), paid)

    async def close(self) -> None:
        """Refuse later jobs; the result of the job under way is lost."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, work: Callable[[], T], paid: Paid) -> T:
        if self._closed:
            raise SluiceError("no more heads are trained: the specializer is closed")
        took = ThreadTime()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, took.of(work))
        finally:
            paid(took.seconds)
