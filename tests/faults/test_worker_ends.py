"""A worker that is killed or stopped in mid-stream, and those that go on in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError

from tests.faults.accounts import assert_accounted
from tests.faults.conftest import Site
from tests.real.process import until

pytestmark = pytest.mark.kafka


def test_killed_and_started_again_leaves_no_frame_without_result(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with site.capture(query) as capture:
        with site.worker(query) as worker:
            site.wait_for_results(capture, worker)
            worker.kill()
        with site.worker(query) as successor:
            site.wait_for_results(capture, successor)
            site.finish(capture, successor)
            assert "never came" not in successor.errors
    results = assert_accounted(site.topics)
    assert any(result.objects for result in results)


def test_terminated_finishes_its_frames_and_its_successor_repeats_none(site: Site, clip: Path) -> None:
    query = site.query(clip)
    with site.capture(query) as capture:
        with site.worker(query) as worker:
            site.wait_for_results(capture, worker)
            assert worker.terminate() == 0, worker.errors
        with site.worker(query) as successor:
            site.wait_for_results(capture, successor)
            site.finish(capture, successor)
    assert_accounted(site.topics, repetitions=False)


def test_of_two_workers_the_one_that_is_left_takes_over(site: Site, clip: Path) -> None:
    query = site.query(*[clip] * 6)
    with site.capture(query) as capture, site.worker(query) as first, site.worker(query) as second:
        until(lambda: busy_members(site) == 2, "both workers to have partitions", capture, first, second)
        site.wait_for_results(capture, first, second)
        first.kill()
        until(lambda: busy_members(site) == 1, "word of the death", capture, second)
        site.wait_for_results(capture, second)
        site.finish(capture, second)
        assert "never came" not in second.errors
    results = assert_accounted(site.topics)
    assert {result.stream for result in results} == {f"s{number}" for number in range(6)}


def busy_members(site: Site) -> int:
    """How many workers the broker has given partitions to."""
    admin = KafkaAdminClient(bootstrap_servers=site.bootstrap)
    try:
        groups = [group["group_id"] for group in admin.list_groups() if group["group_id"].startswith(site.prefix)]
        described = admin.describe_groups(groups) if groups else {}
        return sum(bool(member["member_assignment"]) for group in described.values() for member in group["members"])
    except CoordinatorLoadInProgressError:  # the broker has only just begun
        return 0
    finally:
        admin.close()
