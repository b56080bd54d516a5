"""A job in a child process: whatever happens to the child costs that job alone, and the child never outlives it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from serving.common.child_job import LARGEST_BYTES, LONGEST_S, NICENESS, JobAnswer, in_child
from serving.errors import SluiceError
from tests.serving.common.job_process import MUCH, TextJob
from tests.turns import until

CHILD, NAME = "tests.serving.common.job_process", "the tester"


async def done(text: str, file: Path | None = None, longest_s: float = LONGEST_S) -> JobAnswer:
    job = msgspec.json.encode(TextJob(text, str(file or "")))
    return await in_child(CHILD, NAME, job, longest_s)


async def test_each_job_gets_its_own_answer_and_says_what_it_took() -> None:
    answers = await asyncio.gather(*map(done, ("one", "two")))
    assert [answer.result for answer in answers] == [b"eno", b"owt"]
    assert all(answer.processor_s > 0 for answer in answers)


async def test_a_job_of_which_nothing_comes_says_why() -> None:
    answer = await done("no")
    assert (answer.result, answer.error) == (b"", "there is no such thing")


def test_the_child_gives_way_also_to_a_parent_that_does_and_is_ended_first_where_memory_runs_out() -> None:
    asks = f"import asyncio; from {__name__} import done; print(asyncio.run(done('standing')).result.decode())"
    found = subprocess.check_output(["nice", "-n", "5", sys.executable, "-c", asks], text=True)
    assert json.loads(found) == [min(os.nice(0) + 5 + NICENESS, 19), 1000]


async def test_a_child_that_dies_says_how() -> None:
    with pytest.raises(SluiceError, match=r"^the tester died \(exit status 3\) no way on$"):
        await done("die")


async def test_a_silent_child_is_killed(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="took longer than 5 s: given up"):
        await done("sleep", tmp_path / "pid", longest_s=5.0)
    if (tmp_path / "pid").exists():  # else the machine has not let it begin by then
        assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


async def test_the_child_of_a_job_that_is_given_up_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    job = asyncio.create_task(done("sleep", pid))
    await until(lambda: pid.exists() and bool(pid.read_text()), timeout_s=LONGEST_S)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not psutil.pid_exists(int(pid.read_text())), "neither running nor a zombie"


async def test_jobs_and_answers_are_bounded() -> None:
    with pytest.raises(SluiceError, match="the tester cannot take the job: a message of 67108865 bytes"):
        await in_child(CHILD, NAME, bytes(LARGEST_BYTES + 1))
    assert (await done("x" * 3_000_000)).result == b"x" * 3_000_000
    assert len((await done("much")).result) == MUCH


async def test_a_job_that_is_none_ends_the_child() -> None:
    with pytest.raises(SluiceError, match=r"the tester died .*Malformed"):
        await in_child(CHILD, NAME, b"{}")


async def test_a_module_that_is_missing_is_named() -> None:
    with pytest.raises(SluiceError, match=r"the tester died .*No module named learning\.nothing"):
        await in_child("learning.nothing", NAME, b"one")
