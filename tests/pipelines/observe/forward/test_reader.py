"""Messages are taken in order by key, some keys at a time, and what is done is committed even at the end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import NoOffsetForPartitionError

from operators.transports.record_sets import UNREADABLE
from pipelines.observe.forward.in_order import AT_ONCE
from pipelines.observe.forward.reader import Reader, Take
from pipelines.settings import BrokerSettings
from tests.fake_clock import FakeClock

PLACE, LOST = TopicPartition("events", 0), TopicPartition("events", 1)


class Consumer:
    """What a reader asks of its consumer once it has messages."""

    def __init__(self) -> None:
        self.committed: list[dict[TopicPartition, int]] = []

    def assignment(self) -> set[TopicPartition]:
        return {PLACE}

    async def commit(self, places: dict[TopicPartition, int]) -> None:
        self.committed.append(places)


def record(offset: int, key: str, *headers: tuple[str, bytes]) -> Any:
    return SimpleNamespace(topic="events", key=key.encode(), offset=offset, headers=headers)


def reader(take: Take, clock: FakeClock | None = None) -> Reader:
    return Reader(BrokerSettings(("127.0.0.1:1",)), ["events"], "group", take, clock or FakeClock())


async def test_each_key_in_order_and_only_some_at_a_time() -> None:
    taken: dict[bytes, list[int]] = {}
    now, most = 0, 0

    async def take(each: Any) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        taken.setdefault(each.key, []).append(each.offset)
        now -= 1

    consumer, keys = Consumer(), [f"cam{n}" for n in range(3 * AT_ONCE)]
    records = [record(offset, keys[offset % len(keys)]) for offset in range(5 * len(keys))]
    await reader(take).deal_with(consumer, {PLACE: records, LOST: [record(0, "gone")]})
    assert most == AT_ONCE
    assert all(offsets == sorted(offsets) for offsets in taken.values())
    assert sum(map(len, taken.values())) == len(records) + 1
    assert consumer.committed == [{PLACE: len(records)}]  # a partition that moved away is another's to commit


async def test_what_is_done_is_committed_when_it_ends_in_the_middle() -> None:
    reached = asyncio.Event()

    async def take(each: Any) -> None:
        if each.offset == 2:
            reached.set()
            await asyncio.Event().wait()

    consumer = Consumer()
    records = [record(offset, f"cam{offset}") for offset in range(5)]
    dealing = asyncio.create_task(reader(take).deal_with(consumer, {PLACE: records}))
    await reached.wait()
    dealing.cancel()
    await asyncio.wait([dealing])
    assert consumer.committed == [{PLACE: 2}]


async def test_a_note_of_an_unreadable_batch_is_passed_over() -> None:
    taken: list[int] = []

    async def take(each: Any) -> None:
        taken.append(each.offset)

    consumer = Consumer()
    records = [record(0, "a", (UNREADABLE, b"its checksum is wrong")), record(1, "a")]
    await reader(take).deal_with(consumer, {PLACE: records})
    assert taken == [1]
    assert consumer.committed == [{PLACE: 2}]


async def test_a_broker_that_nobody_asks_is_not_silent() -> None:
    clock, seen = FakeClock(), list[float]()

    async def take(each: Any) -> None:
        clock.advance(1000.0)
        seen.append(reading.silent_s)

    reading = reader(take, clock)
    clock.advance(100.0)
    assert reading.silent_s == 100.0
    await reading.deal_with(Consumer(), {PLACE: [record(0, "a")]})
    assert seen == [0.0]
    assert reading.silent_s == 0.0


async def test_what_is_taken_and_not_done_waits_like_what_lies_on_the_topic() -> None:
    class Counted(Consumer):
        async def end_offsets(self, places: set[TopicPartition]) -> dict[TopicPartition, int]:
            return dict.fromkeys(places, 9)

        async def position(self, place: TopicPartition) -> int:
            return 5

    consumer: Any = Counted()
    seen: list[int | None] = []

    async def take(each: Any) -> None:
        await reading.count(consumer)
        seen.append(reading.waiting)

    reading = reader(take)
    assert reading.waiting is None
    await reading.deal_with(consumer, {PLACE: [record(offset, "a") for offset in (2, 3, 4)]})
    assert seen == [7, 6, 5]
    await reading.count(consumer)
    assert reading.waiting == 4


async def test_a_partition_that_came_later_is_told_from_its_first_message_on() -> None:
    class Growing:
        def __init__(self) -> None:
            self.calls: list[tuple[str, object]] = []

        def assignment(self) -> set[TopicPartition]:
            return {PLACE, LOST}

        async def getmany(self, **_: object) -> None:
            raise NoOffsetForPartitionError(LOST)

        async def committed(self, place: TopicPartition) -> int | None:
            return 7 if place == PLACE else None

        async def position(self, place: TopicPartition) -> int:
            return 0

        async def seek_to_beginning(self, place: TopicPartition) -> None:
            self.calls.append(("beginning", place))

        async def seek_to_end(self, place: TopicPartition) -> None:
            self.calls.append(("end", place))

        async def commit(self, places: dict[TopicPartition, int]) -> None:
            self.calls.append(("commit", places))

    async def take(each: Any) -> None:
        """Nothing comes."""

    consumer: Any = Growing()
    assert await reader(take)._poll(consumer) == {}
    assert consumer.calls == [("beginning", LOST), ("commit", {LOST: 0})]
