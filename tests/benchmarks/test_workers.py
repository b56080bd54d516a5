"""The arithmetic of the workers benchmark."""

from __future__ import annotations

from aiokafka.partitioner import DefaultPartitioner

from benchmarks.workers import STREAMS, frames_per_s, measure, partition, times_as_many


def test_streams_go_to_the_partitions_that_kafka_chooses() -> None:
    choose = DefaultPartitioner()
    for number in range(50):
        name = f"camera-{number}"
        assert partition(name, 7) == choose(name.encode(), list(range(7)), list(range(7)))


def test_the_busiest_worker_is_the_last_to_be_done() -> None:
    names = [f"camera-{number}" for number in range(1000)]
    one_each = [next(name for name in names if partition(name, 4) == place) for place in range(4)]
    assert times_as_many(one_each) == 4
    assert times_as_many([one_each[0], *one_each]) == 2.5
    assert times_as_many(names, workers=1) == 1


def test_more_streams_come_closer_to_four() -> None:
    outcome = measure(quick=True)
    found = [row["times_p50"] for row in outcome.rows]
    assert len(found) == len(STREAMS)
    assert found[0] < found[-1] <= 4
    assert frames_per_s() > 0
