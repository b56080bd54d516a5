"""`--start latest` leaves out what was there when a query first began, and nothing afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

from tests.faults.accounts import frame_id
from tests.faults.conftest import Site
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

LATEST = ("--start", "latest")


def captured(site: Site, query: Path, frames: int) -> set[str]:
    """Frames of new runs, which are named, are on the topic."""
    before = {frame.run for frame in site.topics.frames()}
    with site.capture(query, frames) as capture:
        assert capture.wait() == 0, capture.errors
    return {frame.run for frame in site.topics.frames()} - before


def begun(site: Site, query: Path) -> Sluice:
    worker = site.worker(query, *LATEST)
    until(lambda: "analysing" in worker.errors, "the worker to begin", worker)
    return worker


def answered_all(site: Site, runs: set[str]) -> bool:
    wanted = {frame_id(frame) for frame in site.topics.frames() if frame.run in runs}
    return wanted == {frame_id(result) for result in site.topics.results()}


def test_what_comes_after_the_first_start_is_answered_whoever_is_killed(site: Site, clip: Path) -> None:
    query = site.query(clip)
    early = captured(site, query, 20)
    with begun(site, query) as worker, site.capture(query, 50) as capture:
        until(lambda: site.topics.count("results"), "a result", worker)
        worker.kill()  # long before it commits anything
        assert capture.wait() == 0, capture.errors
    runs = {frame.run for frame in site.topics.frames()} - early
    with begun(site, query) as successor:
        until(lambda: answered_all(site, runs), "results of all frames but the first twenty", successor)
        assert successor.terminate() == 0, successor.errors
    assert worker.errors.count("beginning with the next frames") == 1
    assert "beginning with the next frames" not in successor.errors


def test_what_comes_while_a_worker_is_away_that_had_had_no_frame_is_answered(site: Site, clip: Path) -> None:
    query = site.query(clip)
    captured(site, query, 20)
    with begun(site, query) as worker:
        assert worker.terminate() == 0, worker.errors
    runs = captured(site, query, 40)
    with begun(site, query) as successor:
        until(lambda: answered_all(site, runs), "results of all frames but the first twenty", successor)


def test_a_query_that_has_begun_otherwise_misses_nothing(site: Site, clip: Path) -> None:
    query = site.query(clip)
    runs = captured(site, query, 20)
    with site.worker(query) as first:
        until(lambda: answered_all(site, runs), "results of all frames", first)
        assert first.terminate() == 0, first.errors
    runs |= captured(site, query, 20)
    with begun(site, query) as second:
        until(lambda: answered_all(site, runs), "results of all frames", second)


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_partitions_that_are_added_are_read_at_once_from_their_beginning(site: Site, clip: Path, start: str) -> None:
    query = site.query(*[clip] * 12)
    site.create_topics(query)
    with site.worker(query, "--start", start) as worker:
        until(lambda: "analysing" in worker.errors, "the worker to begin", worker)
        with site.topics:  # which reads the partitions that were there when it began
            runs = captured(site, query, 20)
            until(lambda: answered_all(site, runs), "results of all frames", worker)
        add_partitions(site, 8)
        runs |= captured(site, query, 20)  # a capture that begins now uses all of them
        until(lambda: answered_all(site, runs), "results of all frames", worker)
        assert worker.terminate() == 0, worker.errors
    assert f"topic {site.prefix}frames.v1 has 8 partitions now, it had 4" in worker.errors


def add_partitions(site: Site, count: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=site.bootstrap)
    try:
        admin.create_partitions({f"{site.prefix}frames.v1": count})
    finally:
        admin.close()
