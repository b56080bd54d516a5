"""Trains heads in a process of its own, so that nothing that happens there can stop a worker."""

from __future__ import annotations

import base64
import binascii

import msgspec

from learning.job_child import LARGEST_BYTES
from learning.job_runner import LONGEST_S, JobRunner
from serving.common.untrusted import decode
from serving.errors import Malformed, SluiceError
from specialization.heads.head import SpecialisedHead
from specialization.rates import MeasuredRates
from specialization.trainer.job import Job, Paid, ProfileJob, unpaid

CHILD = "specialization.trainer.child"
NAME = "the process that trains heads"


class JobAnswer(msgspec.Struct, frozen=True):
    """The process's answer to one job: a head, measured rates, or why there are none."""

    head: str = ""
    """Base64 of ``SpecialisedHead.to_bytes``."""
    measured: tuple[MeasuredRates, ...] = ()
    error: str = ""
    processor_s: float = 0.0
    """The job's cost."""


class ProcessSpecializer:
    """A ``Specializer`` whose jobs run in a ``JobRunner``."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._runner = JobRunner(CHILD, NAME, longest_s)

    @property
    def pid(self) -> int | None:
        """The process id; None while there is no process."""
        return self._runner.pid

    async def train(self, job: Job, paid: Paid = unpaid) -> SpecialisedHead:
        """See ``Specializer``; SluiceError also where the process dies."""
        answer = await self._answer(job, paid)
        try:
            return SpecialisedHead.from_bytes(base64.b64decode(answer.head, validate=True))
        except binascii.Error as error:
            raise SluiceError(f"{NAME} sent a damaged one: {error}") from None

    async def profile(self, job: ProfileJob, paid: Paid = unpaid) -> tuple[MeasuredRates, ...]:
        return (await self._answer(job, paid)).measured

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        await self._runner.close()

    async def _answer(self, job: Job | ProfileJob, paid: Paid) -> JobAnswer:
        said = await self._runner.run(msgspec.json.encode(job))
        try:
            answer = decode(said, JobAnswer, LARGEST_BYTES)
        except Malformed as error:
            raise SluiceError(f"{NAME} sent something else than an answer: {error}") from None
        paid(max(0.0, answer.processor_s))
        if answer.error:
            raise SluiceError(answer.error)
        return answer
