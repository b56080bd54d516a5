"""A broker that stops in mid-stream or is not there at the start, as capture, worker and watch together take it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.accounts import answered, assert_accounted
from tests.faults.conftest import Site, make_site
from tests.real.kafka import KafkaBroker, require_jars
from tests.real.ports import free_port
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

AWAY_S = 4.0
GIVE_UP_S = 8


def test_a_broker_that_is_restarted_costs_nothing(own_kafka_broker: KafkaBroker, own_site: Site, clip: Path) -> None:
    site, query = own_site, own_site.query(clip)
    with site.capture(query) as capture, site.worker(query) as worker:
        with site.topics:  # closed in time: kafka-python leaks a socket for each attempt to reach an absent broker
            site.wait_for_results(capture, worker)
        own_kafka_broker.stop()
        time.sleep(AWAY_S)
        own_kafka_broker.start()
        site.wait_for_the_present(capture, worker)
        site.finish(capture, worker)
    results = assert_accounted(site.topics)
    assert all(result.outcome == "analysed" or result.cause for result in results)


def test_a_broker_that_is_not_there_is_waited_for_and_given_up(tmp_path: Path, clip: Path) -> None:
    wait = ("--broker-timeout", GIVE_UP_S)
    with (
        make_site(f"127.0.0.1:{free_port()}", tmp_path) as site,
        site.capture(site.query(clip), 10, *wait) as capture,
        site.worker(site.query(clip), *wait) as worker,
        site.watch("--timeout", GIVE_UP_S) as watch,
    ):
        for process in (capture, worker, watch):
            assert process.wait() == 1, process.errors
            assert_waited_then_gave_up(process, site.bootstrap)


def assert_waited_then_gave_up(process: Sluice, bootstrap: str) -> None:
    *messages, last = process.errors.splitlines()
    assert any("no broker" in message and bootstrap in message for message in messages), process.errors
    assert last.startswith("sluice: error: no broker"), process.errors
    assert bootstrap in last
    assert process.errors.count("error:") == 1
    assert "gave up after" in last
    assert "Traceback" not in process.errors


def test_a_broker_that_comes_up_late_is_found(tmp_path: Path, clip: Path) -> None:
    require_jars()
    broker = KafkaBroker(tmp_path / "broker")
    with (
        make_site(broker.bootstrap, tmp_path) as site,
        site.capture(site.query(clip), 50) as capture,
        site.worker(site.query(clip)) as worker,
        site.watch("--limit", 10) as watch,
    ):
        for process in (capture, worker, watch):
            until(lambda process=process: "no broker" in process.errors, "word of the missing broker")  # type: ignore[misc]
        with broker, site.topics:
            assert watch.wait() == 0, watch.errors
            assert len(watch.output.splitlines()) > 10
            assert capture.wait() == 0, capture.errors
            until(lambda: answered(site.topics), "results of all frames")
            assert worker.terminate() == 0, worker.errors
            assert_accounted(site.topics)
