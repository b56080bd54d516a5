"""Cores and threads: how many a process may use, and a few threads that all parts of it share for work of milliseconds.

``in_thread`` does what ``asyncio.to_thread`` does with fewer steps, because every frame uses it several times.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import Any, TypeVar

ROOT = Path("/")


LEAST_PRIORITY = 19


def step_back() -> None:
    """Give the calling thread, and those that it starts, the least priority, where the system can."""
    if os.name == "posix" and threading.get_native_id() != os.getpid():
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_PRIORITY)


def usable_cores() -> int:
    """At least one."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, granted_cores(ROOT))


def granted_cores(root: Path) -> int:
    """As many as the processor time that Linux grants to the process's groups is worth; without a bound all there are.

    ``root``: of the file system.
    """
    shares = [share for folder in control_groups(root, "cpu") if (share := _share(folder)) is not None]
    return max(1, math.ceil(min(shares, default=float(os.cpu_count() or 1))))


def control_groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the groups that bound a resource: the process's own and those around it, in both versions."""
    for line in lines_of(root / "proc/self/cgroup"):
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds == "" or controller in kinds.split(","):
            inside = PurePosixPath(path.lstrip("/"))
            mounted = root / "sys/fs/cgroup" / (controller if kinds else "")
            yield from (mounted / each for each in (inside, *inside.parents) if ".." not in each.parts)


def _share(folder: Path) -> float | None:
    """Cores' worth of time: by version 2 of control groups, or version 1; None where there is no bound."""
    version_1 = (*lines_of(folder / "cpu.cfs_quota_us"), *lines_of(folder / "cpu.cfs_period_us"))
    words = " ".join(lines_of(folder / "cpu.max") or version_1).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):  # "max", or -1: no bound
        return None
    quota, period = map(int, words)
    return quota / period if period else None


def lines_of(path: Path) -> list[str]:
    """Those of a file of the system's; none where there is no such file."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


T = TypeVar("T")

LEAVE_S = 5.0
"""How long the end of the process waits for work under way."""
_THREADS = usable_cores() + 2
_jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
_starting = threading.Lock()
_threads: list[threading.Thread] = []
_leaving = threading.Event()


class ThreadTime:
    """Adds up the processor time of pieces of work, each in the thread that does it: what runs beside is not in it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, work: Callable[[], T]) -> Callable[[], T]:
        """The same work, with its time counted, whether it succeeds or not."""
        return partial(self._do, work)

    def _do(self, work: Callable[[], T]) -> T:
        started_s = time.thread_time()
        try:
            return work()
        finally:
            self.seconds += time.thread_time() - started_s


class TimeBeside:
    """Processor time of the process but for one thread's: the one that creates it, which does other work meanwhile."""

    def __init__(self) -> None:
        clock_of = getattr(time, "pthread_getcpuclockid", None)  # macOS has none
        self._clock = clock_of(threading.get_ident()) if clock_of else None

    @property
    def seconds(self) -> float:
        """So far; once that thread is over, all of the process."""
        return time.process_time() - self._thread_s()

    def _thread_s(self) -> float:
        if self._clock is None:
            return 0.0
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0


def in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Do the work in a thread; the future belongs to the running loop. Work is done even if nobody awaits it any more.

    The work must be short, because all callers share the threads. RuntimeError where not one can be started.
    """
    if len(_threads) < _THREADS:
        _start()
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    _jobs.put(partial(_do, work, loop, answer))
    return answer


def in_own_thread(work: Callable[[], T], name: str | None = None) -> asyncio.Future[T]:
    """The same for long work, in a new thread, for which the end of the process does not wait."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    threading.Thread(target=_do, args=(work, loop, answer), name=name, daemon=True).start()
    return answer


def _start() -> None:
    """Start those that are missing; where the machine refuses one, a few do, and the next call tries again."""
    with _starting:
        while len(_threads) < _THREADS:
            thread = threading.Thread(target=_serve, name=f"worker-{len(_threads)}", daemon=True)
            try:
                thread.start()
            except (RuntimeError, MemoryError):
                if _threads:
                    return
                raise
            _threads.append(thread)


def _serve() -> None:
    while not _leaving.is_set():
        _jobs.get()()


def _forked() -> None:
    """A fork has none of these threads, and the queue as it was in the midst of something: it begins anew."""
    global _jobs, _starting
    _jobs, _starting = SimpleQueue(), threading.Lock()
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def _leave() -> None:
    """Let the threads end by themselves: the interpreter ends them in mid-work, and in C++ that aborts the process."""
    _leaving.set()
    for _ in _threads:
        _jobs.put(_nothing)
    end_s = time.monotonic() + LEAVE_S
    for thread in _threads:
        thread.join(max(0.0, end_s - time.monotonic()))


def _nothing() -> None:
    """Wakes a thread."""


def _do(work: Callable[[], T], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T]) -> None:
    try:
        tell: Callable[[], Any] = partial(answer.set_result, work())
    except BaseException as error:
        tell = partial(answer.set_exception, _awaitable(error))
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(_unless_given_up, answer, tell)


def _awaitable(error: BaseException) -> Exception:
    """The same to whom awaits it; what a future does not take, or what would end the loop, as a RuntimeError."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def _unless_given_up(answer: asyncio.Future[T], tell: Callable[[], Any]) -> None:
    if not answer.cancelled():
        tell()
