"""What the page makes of the messages of its topics; the broker itself is real in ``tests/integration``."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from operators.frames.codec import FrameError, encode_frame
from operators.wire.schema import FRAME_HEADER_KEY, StreamPlan, to_json
from pipelines.kafka.follow import Follower
from pipelines.kafka.topics import Kind
from pipelines.kafka.verdict import Verdict
from pipelines.observe.live import broker_feed
from pipelines.observe.live.broker_feed import KEPT, READ, BrokerFeed, Pairs
from pipelines.observe.live.page import Page
from pipelines.settings import BrokerSettings
from serving.errors import Malformed
from tests.operators.publish.messages import AT, picture, result, thing
from tests.pipelines.observe.forward.notes import count_note, event, status
from tests.pipelines.observe.plans import specialised
from tests.turns import until

HEADER = (Path(__file__).parents[3] / "golden" / "frame-jpeg.json").read_bytes()
NAMES: dict[Kind, str] = {kind: f"a.{kind}" for kind in READ}


def feed(page: Page | None = None) -> BrokerFeed:
    return BrokerFeed(BrokerSettings(("127.0.0.1:1",)), NAMES, page or Page("test"))


def record(value: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> Any:
    return SimpleNamespace(value=value, headers=headers)


def test_messages_of_all_topics_are_shown() -> None:
    page = Page("test")
    fed, counts = feed(page), count_note().count
    fed.take("results", record(to_json(result(stream="good"))))
    fed.take("events", record(to_json(event("good", type="cross", line="kerb"))))
    fed.take("events", record(to_json(counts)))
    fed.take("streams", record(None))
    assert [tile["stream"] for tile in page.board.wall()["tiles"]] == ["good"]
    shown = page.board.stream("good")
    assert shown is not None
    assert [each["place"] for each in shown["events"]] == ["kerb"]


@pytest.mark.parametrize("kind", ["results", "events", "streams", "plans", "frames"])
def test_what_cannot_be_shown_is_told_to_the_reader_which_passes_it_over(kind: Kind) -> None:
    with pytest.raises((Malformed, FrameError)):
        feed().take(kind, record(b"{"))


def test_states_and_plans_are_read_from_the_beginning_and_the_rest_from_now_on() -> None:
    since = {each.topic: each._since_s for each in feed()._readers}
    assert {topic for topic, at_s in since.items() if at_s is None} == {NAMES[kind] for kind in KEPT}


class Readers:
    """Followers that read nothing, and which of them are at work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_work: set[str] = set()
        readers = self

        async def run(follower: Follower) -> None:
            readers.at_work.add(follower.topic)
            try:
                await asyncio.Event().wait()
            finally:
                readers.at_work.discard(follower.topic)

        monkeypatch.setattr(Follower, "run", run)
        monkeypatch.setattr(broker_feed, "LOOK_S", 0.0)


async def test_frames_are_read_only_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    readers, page, polls = Readers(monkeypatch), Page("test"), list[str | None]()
    fed, frames = feed(page), NAMES["frames"]
    running = asyncio.create_task(fed.run(polls.append))
    try:
        await until(lambda: len(polls) > 3)
        assert readers.at_work == {name for kind, name in NAMES.items() if kind != "frames"}
        with ExitStack() as looking:
            looking.enter_context(page.viewers.looking(None))
            await until(lambda: frames in readers.at_work)
            fed.take("frames", record(b"jpeg", ((FRAME_HEADER_KEY, HEADER),)))
            assert fed._pairs.bytes == 4
        await until(lambda: frames not in readers.at_work)
        assert fed._pairs.bytes == 0
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert readers.at_work == set()


@pytest.mark.parametrize("said", [Verdict("it refuses connections", final=False), None])
async def test_a_broker_that_is_silent_is_asked_why(monkeypatch: pytest.MonkeyPatch, said: Verdict | None) -> None:
    Readers(monkeypatch)
    asked, polls = 0, list[str | None]()

    async def knock(settings: BrokerSettings, timeout_s: float) -> Verdict | None:
        nonlocal asked
        asked += 1
        return said

    monkeypatch.setattr(broker_feed, "knock", knock)
    fed = feed()
    running = asyncio.create_task(fed.run(polls.append))
    try:
        await until(lambda: len(polls) > 2)
        assert (asked, set(polls)) == (0, {None})
        for reader in fed._readers:
            reader.answered_s -= broker_feed.SILENT_S
        await until(lambda: asked > 0)
        await until(lambda: said is None or polls[-1] is not None)
        assert polls[-1] == (said and "no broker answers at kafka://127.0.0.1:1 (it refuses connections)")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_each_query_on_a_stream_has_a_card_with_the_state_of_its_source_and_its_own_plan() -> None:
    page = Page("test")
    fed = feed(page)
    for query in ("cars", "faces"):
        fed.take("plans", record(to_json(StreamPlan(stream="gate", query=query, at=AT, nodes=[specialised(query)]))))
    for seq in range(3):
        for query, found in (("cars", [thing(7)]), ("faces", [])):
            fed.take("results", record(to_json(result(seq, *found, stream="gate", query=query))))
    fed.take("events", record(to_json(event("gate", type="cross", line="kerb", query="faces"))))
    fed.take("streams", record(to_json(status("gate", "stalled"))))
    tiles = page.board.wall()["tiles"]
    assert [(each["stream"], each["analysed"], each["objects"], each["group"]) for each in tiles] == [
        ("gate", 3, 1, "stalled"),
        ("gate · faces", 3, 0, "stalled"),
    ]
    shown = [page.board.stream(name) for name in ("gate", "gate · faces")]
    assert [[each["node"] for each in view["nodes"]] for view in shown if view] == [["cars"], ["faces"]]
    assert [[each["kind"] for each in view["events"]] for view in shown if view] == [["came"], ["cross"]]


def test_a_frame_is_shown_with_the_results_of_all_queries_whichever_comes_first() -> None:
    found, pairs = [result(0, query=query) for query in ("cars", "faces", "people")], Pairs()
    header, jpeg = encode_frame(picture(found[0]))
    assert pairs.result(found[0]) == []
    assert pairs.result(found[1]) == []
    assert pairs.frame(header, jpeg) == [(found[0], (header, jpeg)), (found[1], (header, jpeg))]
    assert pairs.result(found[2]) == [(found[2], (header, jpeg))]


def test_a_frame_whose_result_is_slow_is_not_pushed_out_by_those_that_have_theirs() -> None:
    pairs = Pairs(most_waiting=8)
    slow, jpeg = encode_frame(picture(result(0, stream="slow")))
    pairs.frame(slow, jpeg)
    for seq in range(20):
        header, jpeg = encode_frame(picture(result(seq, stream="quick")))
        assert pairs.frame(header, jpeg) == []
        assert pairs.result(result(seq, stream="quick"))
    assert [header for _, (header, _) in pairs.result(result(0, stream="slow"))] == [slow]


def test_frames_that_get_no_result_leave_room_for_those_that_another_query_answers_later() -> None:
    pairs = Pairs(most_waiting=8)
    for seq in range(40):
        header, jpeg = encode_frame(picture(result(seq)))
        pairs.frame(header, jpeg)
        if seq % 4 == 0:
            assert pairs.result(result(seq, query="quick"))
        if seq % 4 == 1 and seq > 20:
            assert pairs.result(result(seq - 1, query="slower"))
        assert pairs.bytes <= 8 * len(jpeg)
