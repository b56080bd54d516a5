"""Jobs in a child process: one at a time; whatever happens to the child costs one job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from learning.job_child import LARGEST_BYTES, NICENESS
from learning.job_runner import JobRunner
from serving.errors import SluiceError

CHILD = "tests.learning.job_process"


@pytest.fixture
async def runner() -> AsyncIterator[JobRunner]:
    runner = JobRunner(CHILD, "the tester")
    yield runner
    await runner.close()


async def test_the_child_starts_with_the_first_job_and_stays(runner: JobRunner) -> None:
    assert runner.pid is None
    assert await runner.run(b"one") == b"eno"
    pid = runner.pid
    assert await runner.run(bytes(range(256))) == bytes(reversed(range(256)))
    assert runner.pid == pid


async def test_the_child_gives_way(runner: JobRunner) -> None:
    assert await runner.run(b"niceness") == str(NICENESS).encode()
    assert await asyncio.to_thread(Path(f"/proc/{runner.pid}/oom_score_adj").read_text) == "1000\n", "or is ended first"


async def test_each_job_gets_its_own_answer(runner: JobRunner) -> None:
    jobs = [f"job {number}".encode() for number in range(20)]
    assert await asyncio.gather(*map(runner.run, jobs)) == [job[::-1] for job in jobs]


async def test_a_child_that_dies_costs_one_job(runner: JobRunner) -> None:
    with pytest.raises(SluiceError, match=r"^the tester died \(exit status 3\) no way on$"):
        await runner.run(b"die")
    assert runner.pid is None
    assert await runner.run(b"one") == b"eno"


async def test_a_silent_child_is_killed() -> None:
    runner = JobRunner(CHILD, "the tester", longest_s=1.0)
    jobs = [asyncio.create_task(runner.run(b"sleep")), asyncio.create_task(runner.run(b"sleep"))]
    for job in jobs:
        with pytest.raises(SluiceError, match="took longer than 1 s: given up"):
            await job
    assert runner.pid is None
    await runner.close()


async def test_a_cancelled_job_does_not_answer_the_next(runner: JobRunner) -> None:
    await runner.run(b"one")
    first = runner.pid
    assert first is not None
    job = asyncio.create_task(runner.run(b"sleep"))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await runner.run(b"two") == b"owt"
    if runner.pid == first:
        pytest.fail("the child of a cancelled job goes on")


async def test_closing_ends_the_job_under_way_and_refuses_those_that_wait(runner: JobRunner) -> None:
    await runner.run(b"one")
    pid = runner.pid
    assert pid is not None
    jobs = [asyncio.create_task(runner.run(b"sleep")) for _ in range(2)]
    await asyncio.sleep(0)
    await runner.close()
    with pytest.raises(SluiceError, match=r"the tester died \(signal 9\)"):
        await jobs[0]
    with pytest.raises(SluiceError, match="the tester is closed and takes no more jobs"):
        await jobs[1]
    assert not psutil.pid_exists(pid), "neither running nor a zombie"


async def test_jobs_and_answers_are_bounded(runner: JobRunner) -> None:
    with pytest.raises(SluiceError, match="the tester cannot take the job: a message of 67108865 bytes"):
        await runner.run(bytes(LARGEST_BYTES + 1))
    assert await runner.run(b"x" * 3_000_000) == b"x" * 3_000_000
    assert len(await runner.run(b"much")) == LARGEST_BYTES
    assert await runner.run(b"one") == b"eno"


async def test_a_module_that_is_missing_is_named() -> None:
    with pytest.raises(SluiceError, match=r"the tester died .*No module named learning\.nothing"):
        await JobRunner("learning.nothing", "the tester").run(b"one")
