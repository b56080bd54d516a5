"""Work in threads: answers, failures, giving up, ends of loops."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from serving.common.threads import LEAST_PRIORITY, TimeBeside, in_thread, step_back


async def test_work_is_done_in_another_thread() -> None:
    assert await in_thread(threading.get_ident) != threading.get_ident()


async def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await in_thread(fail)
    assert await in_thread(lambda: 1) == 1


@pytest.mark.parametrize("error", [StopIteration(), SystemExit(3), KeyboardInterrupt()])
async def test_what_a_future_does_not_take_or_would_end_the_loop_is_an_error_of_the_work(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__):
        await asyncio.wait_for(in_thread(fail), 30)
    assert await in_thread(lambda: 1) == 1


async def test_the_loop_goes_on_meanwhile() -> None:
    gate = threading.Event()
    answer = in_thread(lambda: gate.wait(120))
    await asyncio.sleep(0)
    assert not answer.done()
    gate.set()
    assert await answer


async def test_several_works_go_on_at_once() -> None:
    together = threading.Barrier(2, timeout=120)
    await asyncio.gather(in_thread(together.wait), in_thread(together.wait))


async def test_an_answer_that_nobody_awaits_any_more_disturbs_nothing() -> None:
    gate = threading.Event()
    answer = in_thread(lambda: gate.wait(120))
    answer.cancel()
    gate.set()
    assert await in_thread(lambda: 2) == 2
    with pytest.raises(asyncio.CancelledError):
        await answer


def test_threads_outlive_the_loop_they_worked_for() -> None:
    gate, seen = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(120)
        seen.set()

    async def begin() -> None:
        in_thread(work)

    asyncio.run(begin())
    gate.set()
    assert seen.wait(120)

    async def again() -> int:
        return await in_thread(lambda: 3)

    assert asyncio.run(again()) == 3


LEAVES_EARLY = """
import asyncio
import cv2, numpy
from serving.common.threads import in_thread

picture = numpy.random.default_rng(0).integers(0, 255, (700, 700, 3), numpy.uint8)

def work():
    for _ in range(20):
        cv2.imencode(".jpg", cv2.GaussianBlur(picture, (3, 3), 0))

async def main():
    for _ in range(100):
        in_thread(work)
    await asyncio.sleep(0.03)

asyncio.run(main())
"""


def test_a_process_that_ends_while_there_is_work_ends_well() -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVES_EARLY], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


REFUSED = """
import asyncio, resource, sys, threading
import psutil
from serving.common import threads
from serving.common.threads import in_thread

def allow(more_bytes):
    space = psutil.Process().memory_info().vms + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (space, resource.RLIM_INFINITY))

def count():
    return sum(each.name.startswith("worker-") for each in threading.enumerate())

async def main():
    threading.stack_size(64 << 20)
    await asyncio.sleep(0)
    allow(32 << 20)
    for _ in range(3):
        try:
            in_thread(lambda: 0)
        except RuntimeError as error:
            print(error, count())
    allow(96 << 20)
    print(await in_thread(lambda: 1), count())
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(await in_thread(lambda: 2), count() == threads._THREADS)

asyncio.run(main())
"""


def test_threads_that_the_machine_refuses_are_started_once_it_gives_them() -> None:
    ended = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [*["can't start new thread 0"] * 3, "1 1", "2 True"]


def burn(seconds: float) -> None:
    """Use so much processor time of the thread that calls."""
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def test_the_time_beside_a_thread_is_that_of_all_others() -> None:
    beside = TimeBeside()
    started_s = beside.seconds
    burn(0.2)
    assert beside.seconds - started_s < 0.1, "what this thread has used is left out"
    other = threading.Thread(target=burn, args=(0.2,))
    other.start()
    other.join()
    assert beside.seconds - started_s >= 0.2


def test_once_its_thread_is_over_the_time_beside_is_that_of_the_process() -> None:
    found: list[TimeBeside] = []
    other = threading.Thread(target=lambda: found.append(TimeBeside()))
    other.start()
    other.join()
    assert found[0].seconds == pytest.approx(time.process_time(), abs=0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux")
def test_a_thread_steps_back_and_so_do_those_that_it_starts_and_no_other() -> None:
    found: list[int] = []

    def note() -> None:
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    def work() -> None:
        step_back()
        note()
        child = threading.Thread(target=note)
        child.start()
        child.join()

    before = os.getpriority(os.PRIO_PROCESS, 0)
    step_back()  # the main thread's priority is the process's
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [LEAST_PRIORITY, LEAST_PRIORITY]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


FORKED = """
import asyncio, os, sys
from serving.common.threads import in_thread

async def work():
    return await asyncio.wait_for(in_thread(lambda: 7), 30)

print(asyncio.run(work()), flush=True)
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
print(asyncio.run(work()), flush=True)
"""


def test_a_fork_works_with_threads_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "7\n7\n"), done.stderr
