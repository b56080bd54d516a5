"""A worker that is killed or stopped in mid-stream, and those that go on in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

from tests.faults.accounts import answered, assert_accounted
from tests.faults.conftest import Site
from tests.real.process import until

pytestmark = pytest.mark.kafka

FRAMES = 250
SOME = 50


def test_killed_and_started_again_leaves_no_frame_without_result(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with site.capture(query, FRAMES) as capture:
        with site.worker(query) as worker:
            until(lambda: site.topics.count("results") > SOME, "results of the first worker")
            worker.kill()
        with site.worker(query) as successor:
            assert capture.wait() == 0, capture.errors
            until(lambda: answered(site.topics), "results of all frames")
            assert successor.terminate() == 0, successor.errors
    results = assert_accounted(site.topics)
    assert len({result.seq for result in results}) == FRAMES
    assert any(result.objects for result in results)


def test_terminated_finishes_its_frames_and_its_successor_repeats_none(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with site.capture(query, FRAMES) as capture:
        with site.worker(query) as worker:
            until(lambda: site.topics.count("results") > SOME, "results of the first worker")
            assert worker.terminate() == 0, worker.errors
        assert SOME < site.topics.count("results") < FRAMES
        with site.worker(query) as successor:
            assert capture.wait() == 0, capture.errors
            until(lambda: answered(site.topics), "results of all frames")
            assert successor.terminate() == 0, successor.errors
    assert_accounted(site.topics, repetitions=False)


def test_of_two_workers_the_one_that_is_left_takes_over(site: Site, clip: Path) -> None:
    query = site.query(*[clip] * 6)
    with site.capture(query, FRAMES) as capture, site.worker(query) as first, site.worker(query) as second:
        until(lambda: busy_members(site) == 2, "both workers to have partitions")
        count = site.topics.count("results")
        until(lambda: site.topics.count("results") > count + SOME, "results of both")
        first.kill()
        assert capture.wait() == 0, capture.errors
        until(lambda: answered(site.topics), "results of all frames")
        assert busy_members(site) == 1
        assert second.terminate() == 0, second.errors
    results = assert_accounted(site.topics)
    assert {result.stream for result in results} == {f"s{number}" for number in range(6)}


def busy_members(site: Site) -> int:
    """How many workers the broker has given partitions to."""
    admin = KafkaAdminClient(bootstrap_servers=site.bootstrap)
    try:
        groups = [group["group_id"] for group in admin.list_groups() if site.prefix.strip(".") in group["group_id"]]
        described = admin.describe_groups(groups) if groups else {}
        return sum(bool(member["member_assignment"]) for group in described.values() for member in group["members"])
    finally:
        admin.close()
