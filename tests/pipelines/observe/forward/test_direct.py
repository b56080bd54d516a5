"""Without a broker: sinks are told at once, in order, from queues that are bounded, and nobody waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from operators.observer import Observers
from operators.wire.schema import Notification
from pipelines.observe.forward import direct
from pipelines.observe.forward.direct import Direct
from pipelines.observe.forward.in_order import AT_ONCE
from pipelines.observe.forward.sink import Away, EventPicture
from pipelines.observe.forward.sinks_file import WebhookSpec
from tests.operators.publish.messages import picture, result
from tests.pipelines.observe.forward.notes import event, status
from tests.pipelines.observe.forward.outcomes import Outcomes


class Taking:
    """A sink that takes what it is told while it is open."""

    keeps_states = False

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.taken: list[tuple[Notification, EventPicture | None]] = []

    def restore(self, notice: Notification) -> None:
        raise AssertionError("nothing is restored")

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        await self.open.wait()
        self.taken.append((notice, picture))

    async def run(self) -> None:
        await asyncio.Event().wait()


def spec(**more: Any) -> WebhookSpec:
    return WebhookSpec.model_validate({"name": "hook", "to": "webhook", "url": "http://a"} | more)


@asynccontextmanager
async def telling(*sinks: tuple[WebhookSpec, Taking]) -> AsyncIterator[tuple[Direct, Outcomes]]:
    outcomes, teller = Outcomes(), Direct(sinks)
    async with teller.running(Observers([outcomes])):
        yield teller, outcomes


async def test_each_sink_is_told_what_it_wants_in_order_by_the_end_of_the_run() -> None:
    all_of_it, crossings = Taking(), Taking()
    async with telling((spec(), all_of_it), (spec(kinds=["cross"]), crossings)) as (teller, outcomes):
        await asyncio.to_thread(teller.stream_state_changed, status())
        await asyncio.sleep(0)
        for seq in range(20):
            teller.event_found(event(seq=seq))
        teller.event_found(event(seq=20, type="cross", line="kerb"))
        await asyncio.to_thread(teller.stream_state_changed, status(state="ended"))
    kinds = [notice.kind for notice, _ in all_of_it.taken]
    assert kinds == ["state", *["new"] * 20, "cross", "state"]
    seqs = [notice.event.seq for notice, _ in all_of_it.taken if notice.event is not None]
    assert seqs == list(range(21))
    assert [notice.kind for notice, _ in crossings.taken] == ["cross"]
    assert outcomes.ended == ["delivered"] * 24
    teller.event_found(event())  # after the run: nobody is there any more
    teller.stream_state_changed(status())


async def test_a_snapshot_is_made_of_the_frame_that_caused_the_event() -> None:
    sink, plain = Taking(), Taking()
    async with telling((spec(snapshot={"max_width": 64}), sink), (spec(), plain)) as (teller, _):
        for seq in range(30):
            found = result(seq)
            await teller.take(picture(found, width=128), found)
        teller.event_found(event(seq=29))
        teller.event_found(event(seq=3))  # too long ago
        teller.stream_dropped("yard")
        teller.event_found(event(seq=29))
    shown = [picture and (picture.width, picture.height, picture.jpeg[:2]) for _, picture in sink.taken]
    assert shown == [(64, 24, b"\xff\xd8"), None, None]
    assert [notice.snapshot_missing for notice, _ in sink.taken] == [None, "gone", "gone"]
    assert [(notice.snapshot_missing, picture) for notice, picture in plain.taken] == [(None, None)] * 3


async def test_what_waits_for_a_sink_that_is_away_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "MOST_WAITING", 5)
    monkeypatch.setattr(direct, "MOST_BYTES", 2 * 64 * 48 * 3)
    sink = Taking()
    sink.open.clear()
    async with telling((spec(snapshot={}), sink)) as (teller, outcomes):
        found = result(7)
        await teller.take(picture(found), found)
        for _ in range(9):
            teller.event_found(event(seq=7))
        assert outcomes.ended == ["expired"] * 4
        assert outcomes.waiting == [1, 2, 3, 4, 5]
        sink.open.set()
    assert [notice.snapshot_missing for notice, _ in sink.taken] == [None, None, "gone", "gone", "gone"]
    assert outcomes.ended == ["expired"] * 4 + ["delivered"] * 5
    assert outcomes.waiting[5:] == [4, 3, 2, 1, 0]


async def test_what_could_not_be_delivered_by_the_end_is_given_up_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "CLOSE_S", 0.0)

    class Gone(Taking):
        async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
            raise Away("nobody there")

    async with telling((spec(), Gone())) as (teller, outcomes):
        for seq in range(3):
            teller.event_found(event(seq=seq))
        teller.event_found(event("gate"))
    assert outcomes.ended == ["expired"] * 4


async def test_streams_do_not_wait_for_each_other_and_no_more_than_some_are_told_at_once() -> None:
    class Slow(Taking):
        now = most = 0

        async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0)
            self.now -= 1
            self.taken.append((notice, picture))

    sink = Slow()
    async with telling((spec(), sink)) as (teller, _):
        for seq in range(3):
            for stream in range(2 * AT_ONCE):
                teller.event_found(event(f"cam{stream}", seq))
    assert sink.most == AT_ONCE
    assert len(sink.taken) == 6 * AT_ONCE
