"""One job in a child process, so that nothing that happens there can stop this process.

The child is a module of ours that calls ``do_job``. A job is a message that does itself; both ways it is JSON, with
numbers as base64. The child ends with its job, whatever becomes of that.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from serving.common.child_process import ChildProcess, Closed, ParentProcess, Silent
from serving.common.untrusted import decode
from serving.errors import BadInput, SluiceError

LARGEST_BYTES = 64 << 20
"""The largest job, and the largest answer."""
LONGEST_S = 300.0
"""The child is killed when it has not answered for so long."""
NICENESS = 10
"""A job gives way to the analysis of streams."""


class Job(Protocol):
    """A ``msgspec`` struct."""

    def result(self) -> bytes:
        """Do it; SluiceError where nothing comes of it."""


class JobAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a job, or why there is none."""

    result: bytes = b""
    error: str = ""
    bad_input: bool = False
    """Whether the job is at fault that there is none."""
    processor_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """The child's processor seconds, its start included."""


async def in_child(module: str, name: str, job: bytes, longest_s: float = LONGEST_S) -> JobAnswer:
    """Have a module, with dots, do an encoded job; ``name``: for messages, as "the process that compares variants".

    SluiceError where the child cannot be started, dies or is silent for too long.
    """
    try:
        child = ChildProcess(module, name)
    except OSError as error:
        raise SluiceError(f"{name} cannot be started: {error}") from error
    asking = asyncio.ensure_future(asyncio.to_thread(asked, child, job, longest_s))
    try:
        return await asyncio.shield(asking)
    except Silent:
        raise SluiceError(f"a job took longer than {longest_s:.0f} s: given up") from None
    except Closed as died:
        raise SluiceError(str(died)) from None
    except ValueError as refused:
        raise SluiceError(f"{name} cannot take the job: {refused}") from None
    finally:
        child.kill()
        await asyncio.wait([asking])
        asking.cancelled() or asking.exception()
        await asyncio.to_thread(child.close)


def asked(child: ChildProcess, job: bytes, longest_s: float) -> JobAnswer:
    """Have a child do an encoded job; raises Silent, Closed or Malformed, ValueError for a job that is too large."""
    child.send(job, longest_s, LARGEST_BYTES)
    return decode(child.receive(longest_s, LARGEST_BYTES), JobAnswer, LARGEST_BYTES)


def answered(kind: type[Job], job: bytes) -> JobAnswer:
    """Do an encoded job in this process; Malformed where it is none."""
    wanted = decode(job, kind, LARGEST_BYTES)
    try:
        return JobAnswer(wanted.result())
    except SluiceError as error:
        return JobAnswer(error=str(error), bad_input=isinstance(error, BadInput))


def do_job(kind: type[Job], niceness: int = NICENESS) -> None:
    """Be the child, for a job of this kind; ``niceness``: how much more it gives way than the parent does."""
    parent = ParentProcess(LARGEST_BYTES)
    os.nice(niceness)
    with suppress(OSError):  # where memory runs out, this process goes and not the one that analyses streams
        Path("/proc/self/oom_score_adj").write_text("1000")
    found = answered(kind, parent.receive())
    parent.send(msgspec.json.encode(msgspec.structs.replace(found, processor_s=time.process_time())))
