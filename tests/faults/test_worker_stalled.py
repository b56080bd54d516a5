"""A worker whose machine has no thread for it for a while, and one that hangs and has to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.faults.accounts import assert_accounted
from tests.faults.conftest import Site
from tests.real.kafka import KafkaBroker
from tests.real.process import WAIT_S, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

ENDS_AFTER_S = 4
WOULD_END_AFTER_S = 20
"""For a worker that is well and may be slow."""
HANGS = """
import asyncio, threading, time
from operators.track.operator import Track
from pipelines.worker import process

async def hang(*_):
    await {hang}

Track.process = hang
process.ENDING_S = 8
from pipelines.cli import main
main()
"""
IN_THE_LOOP, IN_A_THREAD = "asyncio.Event().wait()", "asyncio.to_thread(threading.Event().wait)"
THE_LOOP = "asyncio.sleep(0, time.sleep(1e6))"


@contextmanager
def hanging(site: Site, query: Path, hang: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`sluice worker` in which every frame waits for ever; what it says on stderr."""
    said = site.folder / "hanging.err"
    command = [sys.executable, "-c", HANGS.format(hang=hang), "worker", str(query), "--stalled-after", "2"]
    environment = {"PATH": os.defpath, "HOME": str(site.folder), "SLUICE_STALLED_END_S": str(ENDS_AFTER_S)}
    environment["SLUICE_BROKER"] = f"kafka://{site.bootstrap}"
    root = Path(__file__).resolve().parents[2]
    with said.open("wb") as errors:
        process = subprocess.Popen(command, stderr=errors, env=environment, cwd=root)
    try:
        yield process, said
    finally:
        process.kill()
        process.wait()


def test_a_worker_that_gets_no_thread_for_a_while_goes_on_once_it_does(site: Site, clip: Path) -> None:
    query = site.query(clip)
    site.create_topics(query)
    with site.worker(query) as worker:
        until(lambda: "analysing" in worker.errors, "the worker to begin", worker)
        process = psutil.Process(worker.process.pid)
        space = process.memory_info().vms + (4 << 20)  # a thread takes 8 MiB
        process.rlimit(psutil.RLIMIT_AS, (space, psutil.RLIM_INFINITY))
        with site.capture(query) as capture:
            until(lambda: failures(site.topics), "a frame that could not be analysed", capture, worker)
            process.rlimit(psutil.RLIMIT_AS, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
            site.wait_for_results(capture, worker)
            site.finish(capture, worker)
    results = site.topics.results()
    assert results[-1].outcome == "analysed"
    assert "failed: RuntimeError: can't start new thread" in {result.cause for result in results}


def failures(topics: Topics) -> int:
    return sum(result.outcome == "failed" for result in topics.results())


@pytest.mark.parametrize("hang", [IN_THE_LOOP, IN_A_THREAD], ids=["in the loop", "in a thread"])
def test_a_worker_that_hangs_ends_and_the_next_answers_what_it_had(site: Site, clip: Path, hang: str) -> None:
    query = site.query(clip)
    with site.capture(query) as capture:
        with hanging(site, query, hang) as (process, said):
            assert process.wait(WAIT_S) == 1, said.read_text()
        *_, last = said.read_text().splitlines()
        assert last.startswith("sluice: error: topic ")
        assert "messages wait and none has been acknowledged for" in last
        assert last.endswith("s: the process ends here, so that it can be started anew")
        assert "Traceback" not in said.read_text()
        with site.worker(query) as successor:
            site.wait_for_results(capture, successor)
            site.finish(capture, successor)
    assert_accounted(site.topics)


def test_a_worker_whose_event_loop_hangs_ends_and_the_next_answers_what_it_had(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with site.capture(query) as capture:
        with hanging(site, query, THE_LOOP) as (process, said):
            assert process.wait(WAIT_S) == 1, said.read_text()
        assert "sluice: error: the event loop has stood still for 4 s: the process ends here" in said.read_text()
        with site.worker(query) as successor:
            site.wait_for_results(capture, successor)
            site.finish(capture, successor)
    assert_accounted(site.topics)


def test_a_worker_that_was_frozen_for_longer_goes_on(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with (
        site.capture(query) as capture,
        site.worker(query, "--stalled-after", 2, SLUICE_STALLED_END_S=WOULD_END_AFTER_S) as worker,
    ):
        site.wait_for_results(capture, worker)
        worker.process.send_signal(signal.SIGSTOP)
        time.sleep(1.3 * WOULD_END_AFTER_S)
        worker.process.send_signal(signal.SIGCONT)
        site.wait_for_the_present(capture, worker)
        site.finish(capture, worker)
    assert_accounted(site.topics)


def test_a_worker_without_work_does_not_end(site: Site, clip: Path) -> None:
    query = site.query(clip)
    site.create_topics(query)
    with site.worker(query, "--stalled-after", 2, SLUICE_STALLED_END_S=WOULD_END_AFTER_S) as worker:
        with site.capture(query, 30) as capture:
            assert capture.wait() == 0, capture.errors
        until(lambda: site.topics.count("results") == 30, "results of all frames", worker)
        time.sleep(1.3 * WOULD_END_AFTER_S)
        with site.capture(query, 30) as capture:
            assert capture.wait() == 0, capture.errors
        until(lambda: site.topics.count("results") == 60, "results of all frames", worker)
        assert worker.terminate() == 0, worker.errors


def test_the_time_without_a_broker_does_not_count(own_site: Site, own_kafka_broker: KafkaBroker, clip: Path) -> None:
    query = own_site.query(clip)
    with (
        own_site.capture(query) as capture,
        own_site.worker(query, "--stalled-after", 2, SLUICE_STALLED_END_S=WOULD_END_AFTER_S) as worker,
    ):
        with own_site.topics:  # closed in time: kafka-python leaks a socket for each attempt to reach an absent broker
            own_site.wait_for_results(capture, worker)
        own_kafka_broker.kill()
        time.sleep(1.3 * WOULD_END_AFTER_S)
        own_kafka_broker.start()
        own_site.wait_for_the_present(capture, worker)
        own_site.finish(capture, worker)
    assert_accounted(own_site.topics)
