"""The child's side of ``job_runner``: take a job, answer it, and wait for the next one.

A job is a message that does itself. Both ways it is JSON, with numbers as base64.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from serving.common.child_process import ParentProcess
from serving.common.untrusted import decode
from serving.errors import SluiceError

LARGEST_BYTES = 64 << 20
"""The largest answer; a larger one is refused by the other side."""
NICENESS = 10
"""Training gives way to the analysis of streams."""


class Job(Protocol):
    """A ``msgspec`` struct."""

    def result(self) -> bytes:
        """Do it; SluiceError where nothing comes of it."""


class JobAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a job, or why there is none."""

    result: bytes = b""
    error: str = ""
    processor_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """The child's processor seconds since its last answer; the first job pays for its start."""

    @classmethod
    def read(cls, data: bytes) -> JobAnswer:
        """Decode an answer; Malformed where it is none."""
        return decode(data, cls, LARGEST_BYTES)


def answered(kind: type[Job], job: bytes) -> JobAnswer:
    """Do an encoded job in the calling thread; Malformed where it is none."""
    wanted = decode(job, kind, LARGEST_BYTES)
    try:
        return JobAnswer(wanted.result())
    except SluiceError as error:
        return JobAnswer(error=str(error))


def serve_jobs(kind: type[Job]) -> None:
    """Answer jobs of a kind until the other side closes the pipe or has ended."""
    told_s = 0.0

    def answer(job: bytes) -> bytes:
        nonlocal told_s
        found = answered(kind, job)
        before_s, told_s = told_s, time.process_time()
        return msgspec.json.encode(msgspec.structs.replace(found, processor_s=told_s - before_s))

    serve(answer)


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer jobs until the other side closes the pipe or has ended; where ``answer`` raises, the child ends."""
    parent = ParentProcess(LARGEST_BYTES)
    give_way()
    with suppress(OSError):  # where memory runs out, this process goes and not the one that analyses streams
        Path("/proc/self/oom_score_adj").write_text("1000")
    while True:
        parent.send(answer(parent.receive()))


def give_way() -> None:
    """Lower the priority of the calling thread, and of a process that calls it first, where the system allows that."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
