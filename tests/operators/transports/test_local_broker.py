"""Topics, groups and wake-ups of ``local://`` without Faust."""

from __future__ import annotations

import asyncio
import threading

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from operators.transports.local_broker import LocalBroker
from serving.errors import BadInput


def test_a_name_is_an_address() -> None:
    broker = LocalBroker.named("here")
    assert LocalBroker.named("here") is broker
    LocalBroker.forget("here")
    assert LocalBroker.named("here") is not broker


@given(st.binary(min_size=1, max_size=20), st.integers(1, 32))
def test_keys_are_placed_as_kafka_clients_place_them(key: bytes, partitions: int) -> None:
    broker = LocalBroker()
    broker.create_topic("topic", partitions)
    everywhere = list(range(partitions))
    assert broker.place("topic", key) == DefaultPartitioner()(key, everywhere, everywhere)


def test_without_keys_partitions_take_turns() -> None:
    broker = LocalBroker()
    broker.create_topic("topic", 3)
    assert sorted(broker.place("topic", None) for _ in range(6)) == [0, 0, 1, 1, 2, 2]


def test_a_topic_that_exists_stays_as_it_is() -> None:
    broker = LocalBroker()
    broker.create_topic("topic", 2)
    broker.create_topic("topic", 5)
    assert broker.partitions_for_topic("topic") == {0, 1}
    assert broker.partitions_for_topic("unknown") == set()


def test_a_group_that_falls_behind_the_bound_is_told_what_it_lost() -> None:
    broker = LocalBroker(max_bytes=100)
    for number in range(10):
        broker.append("topic", None, bytes([number]) * 30)

    records = broker.read("slow", ("topic", 0), 2, 100)
    assert [record.offset for record in records] == [7, 8, 9]
    assert broker.lost == {("slow", ("topic", 0)): 5}
    assert broker.start(("topic", 0)) == 7
    broker.read("slow", ("topic", 0), 10, 100)
    assert broker.lost["slow", ("topic", 0)] == 5, "what is up to date loses nothing"


def test_a_group_goes_on_where_it_committed() -> None:
    broker = LocalBroker()
    assert broker.committed("group", ("topic", 0)) is None
    broker.commit("group", ("topic", 0), 7)
    assert broker.committed("group", ("topic", 0)) == 7
    assert broker.committed("other", ("topic", 0)) is None


def test_a_second_member_is_refused_until_the_first_leaves() -> None:
    broker = LocalBroker()
    broker.join("group")
    with pytest.raises(BadInput, match="group has a consumer already"):
        broker.join("group")
    broker.leave("group")
    broker.join("group")


async def test_an_append_from_a_thread_wakes_the_loop() -> None:
    broker, appended = LocalBroker(), asyncio.Event()
    broker.subscribe(appended, ["topic"])
    threading.Thread(target=broker.append, args=("topic", None, b"value")).start()
    await asyncio.wait_for(appended.wait(), 5)
    appended.clear()
    broker.append("another topic", None, b"value")
    assert not appended.is_set()
    broker.unsubscribe(appended)
    broker.append("topic", None, b"value")
    await asyncio.sleep(0)
    assert not appended.is_set()


def test_threads_that_append_at_once_lose_nothing() -> None:
    broker = LocalBroker()

    def append_many() -> None:
        for _ in range(500):
            broker.append("topic", b"key", b"value")

    threads = [threading.Thread(target=append_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.offset for record in broker.read("reader", ("topic", 0), 0, 10_000)] == list(range(2000))
