"""The child's side of ``job_runner``: take a job, answer it, and wait for the next one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from serving.common.parent_process import ParentProcess

LARGEST_BYTES = 64 << 20
"""The largest answer; a larger one is refused by the other side."""
NICENESS = 10
"""Training gives way to the analysis of streams."""


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer jobs until the other side closes the pipe or has ended; where ``answer`` raises, the child ends."""
    parent = ParentProcess(LARGEST_BYTES)
    give_way()
    while True:
        parent.send(answer(parent.receive()))


def give_way() -> None:
    """Lower the priority of the calling thread, and of a process that calls it first, where the system allows that."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
