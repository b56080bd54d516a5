"""What the page makes of the messages of its topics; the broker itself is real in ``tests/integration``."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition

from operators.wire.schema import Result, to_json
from pipelines.observe.live import broker_feed
from pipelines.observe.live.board import Board
from pipelines.observe.live.broker_feed import READ, BrokerFeed
from pipelines.observe.live.page import Page
from tests.operators.publish.messages import result
from tests.pipelines.observe.forward.notes import count_note, event

RESULTS = TopicPartition("results", 0)


class Client:
    """Has one batch of results, and nothing after it."""

    _fetcher = SimpleNamespace(PartitionRecords=None)

    def __init__(self, values: Sequence[bytes], stop: threading.Event, *events: bytes) -> None:
        self._batches = [
            [
                SimpleNamespace(topic=topic, partition=0, offset=n, headers=[], value=value)
                for topic, several in (("results", values), ("events", events))
                for n, value in enumerate(several)
            ]
        ]
        self._stop = stop

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0} if topic == "results" else set()

    def poll(self, **_: object) -> Mapping[TopicPartition, Sequence[Any]]:
        if self._batches:
            return {RESULTS: self._batches.pop()}
        self._stop.set()
        return {}

    def assign(self, *_: object) -> None: ...

    seek_to_end = seek_to_beginning = pause = resume = assign


async def test_a_message_that_cannot_be_shown_costs_itself_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    came = Board.came

    def picky(board: Board, each: Result) -> None:
        if each.stream == "bad":
            raise ZeroDivisionError("nobody foresaw it")
        came(board, each)

    monkeypatch.setattr(Board, "came", picky)
    stop, page = threading.Event(), Page("test")
    values = [to_json(result(stream=stream)) for stream in ("bad", "good")]
    crossing = event("good", type="cross", line="kerb")
    counts = count_note().count
    assert counts is not None
    client = Client([values[0], b"{", values[1]], stop, to_json(crossing), b"{}", to_json(counts))
    feed = BrokerFeed(client, {kind: kind for kind in READ}, page)
    await asyncio.to_thread(feed.run, stop, asyncio.get_running_loop(), lambda away: None)
    assert [tile["stream"] for tile in page.board.wall()["tiles"]] == ["good"]
    shown = page.board.stream("good")
    assert shown is not None
    assert [each["place"] for each in shown["events"]] == ["kerb"]
    assert "topic events has a message that cannot be shown" in caplog.text
    assert "cannot be shown: ZeroDivisionError: nobody foresaw it" in caplog.text
    assert "topic results has a message that cannot be shown" in caplog.text


@pytest.mark.parametrize("why", ["it refuses connections", None])
async def test_a_broker_that_is_silent_is_knocked_at(monkeypatch: pytest.MonkeyPatch, why: str | None) -> None:
    """Half a second passes from poll to poll; results come with the first one only."""
    seconds = itertools.count(100.0, 0.25)
    monkeypatch.setattr(broker_feed.time, "monotonic", lambda: next(seconds))
    stop, said, knocked = threading.Event(), list[str | None](), 0

    def knock() -> str | None:
        nonlocal knocked
        knocked += 1
        return why

    def polled(away: str | None) -> None:
        said.append(away)
        if len(said) == 25:
            stop.set()

    client = Client([to_json(result())], threading.Event())
    feed = BrokerFeed(client, {kind: kind for kind in READ}, Page("test"), knock)
    await asyncio.to_thread(feed.run, stop, asyncio.get_running_loop(), polled)
    assert knocked == 2
    assert said == [None] * 10 + [why] * 15
