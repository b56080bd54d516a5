"""Runs jobs in a child process, so that nothing that happens there can stop this process.

The child is a module of ours that calls ``job_child.serve_jobs``. A job and its answer are bytes; the runner's user
encodes them. A child that dies, hangs or is given up costs one job, because the next job starts another child.
"""

from __future__ import annotations

import asyncio

from learning.job_child import LARGEST_BYTES
from serving.common.child_process import ChildProcess, Closed, Silent
from serving.errors import SluiceError

LONGEST_S = 300.0
"""The child is killed when it has not answered a job for so long."""


class JobRunner:
    """Starts the child with the first job and gives it one job at a time."""

    def __init__(self, module: str, name: str, longest_s: float = LONGEST_S) -> None:
        """``module``: the child's module, with dots; ``name``: for messages, as "the process that trains exits"."""
        self._module, self._name, self._longest_s = module, name, longest_s
        self._one_at_a_time = asyncio.Lock()
        self._child: ChildProcess | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is no child."""
        return None if self._child is None else self._child.pid

    async def run(self, job: bytes) -> bytes:
        """Return the child's answer; SluiceError where the child dies, is silent for too long or cannot be started."""
        async with self._one_at_a_time:
            if self._closed:
                raise SluiceError(f"{self._name} is closed and takes no more jobs")
            self._child = self._child or self._started()
            asking = asyncio.ensure_future(asyncio.to_thread(_asked, self._child, job, self._longest_s))
            try:
                return bytes(await asyncio.shield(asking))
            except Silent:
                await self._stop(asking)
                raise SluiceError(f"a job took longer than {self._longest_s:.0f} s: given up") from None
            except Closed as died:
                await self._stop(asking)
                raise SluiceError(str(died)) from None
            except ValueError as refused:
                raise SluiceError(f"{self._name} cannot take the job: {refused}") from None
            except asyncio.CancelledError:
                # A child that went on would answer the next job with the answer to this one.
                await self._stop(asking)
                raise

    async def close(self) -> None:
        """Kill the child, whatever it is doing; later jobs are refused."""
        self._closed = True
        if self._child is not None:
            self._child.kill()
        async with self._one_at_a_time:
            await self._stop()

    def _started(self) -> ChildProcess:
        try:
            return ChildProcess(self._module, self._name)
        except OSError as error:
            raise SluiceError(f"{self._name} cannot be started: {error}") from error

    async def _stop(self, asking: asyncio.Future[bytearray] | None = None) -> None:
        """Kill the child unless it has ended, and wait for it and for the thread that asked it."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        if asking is not None:
            await asyncio.wait([asking])
            asking.cancelled() or asking.exception()
        await asyncio.to_thread(child.close)


def _asked(child: ChildProcess, job: bytes, longest_s: float) -> bytearray:
    child.send(job, longest_s, LARGEST_BYTES)
    return child.receive(longest_s, LARGEST_BYTES)
