"""Heads come from a thread or a process; whatever happens there is an error of that job alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from learning.job_child import NICENESS
from learning.store import FeatureStore, write_store
from serving.errors import SluiceError
from specialization.heads.train import HeadSamples, train_head
from specialization.trainer.trainer import Job, ProcessSpecializer, ProfileJob, Specializer, ThreadSpecializer
from tests.learning.stores import samples


@pytest.fixture
def job(tmp_path: Path) -> Job:
    write_store(tmp_path / "store", *samples(1200))
    return Job(str(tmp_path / "store"), (0, 2), 0.6, 0.02, seed=5)


@pytest.fixture(params=[ThreadSpecializer, ProcessSpecializer])
async def specializer(request: pytest.FixtureRequest) -> AsyncIterator[Specializer]:
    made: Specializer = request.param()
    yield made
    await made.close()


async def test_it_trains_the_head_that_anybody_would(specializer: Specializer, job: Job) -> None:
    head = await specializer.train(job)
    store = FeatureStore.open(Path(job.store))
    here = train_head(HeadSamples(store.features, store.labels), (0, 2), 0.6, 0.02, np.random.default_rng(5))
    assert (head.classes, head.rates) == (here.classes, here.rates)
    np.testing.assert_allclose(head.weights, here.weights, atol=1e-5)


async def test_jobs_wait_for_each_other(specializer: Specializer, job: Job) -> None:
    first, second = await asyncio.gather(specializer.train(job), specializer.train(job))
    assert first.to_bytes() == second.to_bytes()


async def test_a_job_that_fails_fails_alone(specializer: Specializer, job: Job, tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="is missing"):
        await specializer.train(Job(str(tmp_path / "no"), (0,), 0.6, 0.02, 1))
    with pytest.raises(SluiceError, match="class 17 has 0 samples"):
        await specializer.train(Job(job.store, (17,), 0.6, 0.02, 1))
    with pytest.raises(SluiceError, match="failed: ValueError"):
        await specializer.train(Job(job.store, (0,), 0.6, 0.02, -1))
    assert (await specializer.train(job)).classes == (0, 2)


async def test_it_measures_rates_of_a_store(specializer: Specializer, job: Job) -> None:
    measured = await specializer.profile(ProfileJob(job.store, seed=1))
    assert [each.tolerance for each in measured] == [0.005, 0.01, 0.015, 0.025, 0.05]
    assert list(measured[0].rates) == [1, 2, 3, 5]


async def test_every_job_says_what_it_took_even_one_that_fails(specializer: Specializer, job: Job) -> None:
    bills: list[float] = []
    await specializer.train(job, bills.append)
    await specializer.profile(ProfileJob(job.store, seed=1), bills.append)
    with pytest.raises(SluiceError):
        await specializer.train(Job(job.store, (17,), 0.6, 0.02, 1), bills.append)
    assert len(bills) == 3
    assert bills[0] > 0 < bills[1]
    assert bills[2] >= 0


async def test_the_first_job_pays_for_the_start_of_the_process(job: Job) -> None:
    specializer, bills = ProcessSpecializer(), list[float]()
    await specializer.train(job, bills.append)
    await specializer.train(job, bills.append)
    assert specializer.pid is not None
    used = psutil.Process(specializer.pid).cpu_times()
    assert sum(bills) == pytest.approx(used.user + used.system, abs=0.1)
    await specializer.close()


async def test_a_closed_one_trains_no_more(specializer: Specializer, job: Job) -> None:
    await specializer.close()
    with pytest.raises(SluiceError, match="closed"):
        await specializer.train(job)


async def test_the_process_starts_with_the_first_job_and_gives_way(job: Job) -> None:
    specializer = ProcessSpecializer()
    assert specializer.pid is None
    await specializer.train(job)
    assert specializer.pid is not None
    assert psutil.Process(specializer.pid).nice() == NICENESS
    pid = specializer.pid
    await specializer.close()
    assert not psutil.pid_exists(pid), "neither running nor a zombie"


async def test_a_process_that_was_killed_costs_one_job(job: Job) -> None:
    specializer = ProcessSpecializer()
    await specializer.train(job)
    first = specializer.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    waiting = asyncio.create_task(specializer.train(job))
    await asyncio.sleep(0.05)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(SluiceError, match=r"died \(signal 9\)"):
        await waiting
    assert not psutil.pid_exists(first)
    assert (await specializer.train(job)).classes == (0, 2)
    assert specializer.pid != first
    await specializer.close()


async def test_one_that_died_between_jobs_is_noticed(job: Job) -> None:
    specializer = ProcessSpecializer()
    await specializer.train(job)
    assert specializer.pid is not None
    os.kill(specializer.pid, signal.SIGKILL)
    with pytest.raises(SluiceError, match=r"died \(signal 9\)"):
        await specializer.train(job)
    assert (await specializer.train(job)).classes == (0, 2)
    await specializer.close()


async def test_a_job_that_is_given_up_does_not_answer_the_next(job: Job) -> None:
    specializer = ProcessSpecializer()
    await specializer.train(job)
    first = specializer.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    waiting = asyncio.create_task(specializer.train(job))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not psutil.pid_exists(first)
    assert (await specializer.train(Job(job.store, (1,), 0.6, 0.02, 1))).classes == (1,)
    await specializer.close()


async def test_a_process_that_takes_too_long_is_ended(job: Job) -> None:
    specializer = ProcessSpecializer(longest_s=0.001)
    with pytest.raises(SluiceError, match="took longer than 0 s"):
        await specializer.train(job)
    assert specializer.pid is None
    await specializer.close()


async def test_closing_ends_what_is_being_trained(job: Job) -> None:
    specializer = ProcessSpecializer()
    await specializer.train(job)
    assert specializer.pid is not None
    os.kill(specializer.pid, signal.SIGSTOP)
    waiting = asyncio.create_task(specializer.train(job))
    await asyncio.sleep(0.05)
    await specializer.close()
    with pytest.raises(SluiceError, match=r"died \(signal 9\)"):
        await waiting


async def test_the_process_ends_with_its_parent(job: Job, tmp_path: Path) -> None:
    parent = f"""
import asyncio, os
from specialization.trainer.trainer import Job, ProcessSpecializer
async def main():
    specializer = ProcessSpecializer()
    await specializer.train(Job({job.store!r}, (0, 2), 0.6, 0.02, 5))
    print(specializer.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    for _ in range(100):
        if not psutil.pid_exists(int(said)) or psutil.Process(int(said)).status() == psutil.STATUS_ZOMBIE:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the process of a parent that was killed goes on")
