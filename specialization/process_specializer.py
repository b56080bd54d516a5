"""Trains heads in a process of its own, so that nothing that happens there can stop a worker."""

from __future__ import annotations

import asyncio
import base64
import binascii
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import msgspec

from serving.errors import SluiceError
from specialization.head import SpecialisedHead
from specialization.job import Job, ProfileJob
from specialization.templates import Measured

LONGEST_S = 300.0
"""A head takes a second, a profile a minute; a process that is silent for longer is lost."""
CLOSED = "no more heads are trained: the specializer is closed"
LONGEST_LINE = 64 << 20


class Answer(msgspec.Struct, frozen=True):
    """What the process says of one job: a head, or why there is none."""

    head: str = ""
    """Base64 of ``SpecialisedHead.to_bytes``."""
    measured: tuple[Measured, ...] = ()
    error: str = ""


class ProcessSpecializer:
    """Started with the first job, and again with the next one where it has died; one JSON line each way per job."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._longest_s = longest_s
        self._process: Process | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process; None where there is none."""
        return None if self._process is None else self._process.pid

    async def train(self, job: Job) -> SpecialisedHead:
        """See ``Specializer``; SluiceError also where the process dies."""
        answer = await self._answer(job)
        try:
            return SpecialisedHead.from_bytes(base64.b64decode(answer.head, validate=True))
        except binascii.Error as error:
            raise SluiceError(f"the process that trains heads sent a damaged one: {error}") from None

    async def profile(self, job: ProfileJob) -> tuple[Measured, ...]:
        """See ``train``."""
        return (await self._answer(job)).measured

    async def _answer(self, job: Job | ProfileJob) -> Answer:
        async with self._one_at_a_time:
            if self._closed:
                raise SluiceError(CLOSED)
            process = self._process = self._process or await _started()
            try:
                async with asyncio.timeout(self._longest_s):
                    line = await _asked(process, job)
            except TimeoutError:
                await self._stop()
                raise SluiceError(f"a job took longer than {self._longest_s:.0f} s: given up") from None
            except BaseException:
                # Its answer would be taken for that to the next job.
                await self._stop()
                raise
            if not line.endswith(b"\n"):
                with suppress(TimeoutError):  # what has closed its output has ended, or is about to
                    await asyncio.wait_for(process.wait(), 1.0)
                status = await self._stop()
                raise SluiceError(f"the process that trains heads ended with status {status}")
            return _decoded(line)

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        self._closed = True
        await self._stop()

    async def _stop(self) -> int:
        """Kill the process unless it has ended, and wait for it; its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.returncode is None:
            process.kill()
        return await asyncio.shield(process.wait())


async def _started() -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "specialization.specializer_process", stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE
        )
    except OSError as error:
        raise SluiceError(f"the process that trains heads cannot be started: {error}") from error


async def _asked(process: Process, job: Job | ProfileJob) -> bytes:
    """The line that answers a job; cut off or empty where the process has died."""
    assert process.stdin
    assert process.stdout
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(msgspec.json.encode(job) + b"\n")
        await process.stdin.drain()
    return await process.stdout.readline()


def _decoded(line: bytes) -> Answer:
    try:
        answer = msgspec.json.decode(line, type=Answer)
    except msgspec.MsgspecError as error:
        raise SluiceError(f"the process that trains heads said something else than an answer: {error}") from None
    if answer.error:
        raise SluiceError(answer.error)
    return answer
