"""What is learnt from the tail of the results topic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec
import pytest
from aiokafka.errors import RequestTimedOutError
from msgspec.structs import replace

from operators.publish.track_events import Lifecycle, Lifecycles
from operators.wire.schema import FrameHeader, FrameInfo, Plan, Result, to_json
from pipelines.partition import resume
from pipelines.partition.resume import RECENT_RESULTS, KafkaResume, Tail
from pipelines.settings import BrokerSettings
from tests.at_once import AT_ONCE
from tests.operators.publish.messages import result as message
from tests.operators.publish.messages import thing
from tests.operators.publish.test_zone_events import RULES, standing

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def result(seq: int, stream: str = "camera", query: str = "vehicles") -> Result:
    info = FrameInfo(width=64, height=48, media_time_s=seq / 10, captured_at=NOW)
    plan = Plan(slo_ms=100, deadline_met=True)
    return Result(stream=stream, run="run", seq=seq, query=query, frame=info, outcome="analysed", plan=plan)


def header(seq: int, stream: str = "camera", run: str = "run") -> FrameHeader:
    return FrameHeader(
        stream=stream, run=run, seq=seq, width=64, height=48, media_time_s=0.0, captured_at=NOW, encoding="jpeg"
    )


def test_a_frame_with_a_result_is_known_once() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3)))
    assert tail.answered(header(3))
    assert not tail.answered(header(3)), "a frame comes once"
    assert not tail.answered(header(4))


def test_another_run_or_stream_is_another_frame() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3)))
    assert not tail.answered(header(3, run="other"))
    assert not tail.answered(header(3, stream="other"))


def test_results_of_another_query_do_not_answer() -> None:
    tail = Tail("vehicles")
    tail.add(to_json(result(3, query="people")))
    assert not tail.answered(header(3))


def test_what_is_no_result_is_passed_over() -> None:
    tail = Tail("vehicles")
    for value in (
        None,
        b"",
        b"{",
        b"[1]",
        b'{"query": "vehicles"}',
        b'{"query": "\xff"}',
        b"[" * 9999,
        b'{"a":' * 9999,
    ):
        tail.add(value, "somewhere")
    assert not len(tail)
    assert tail.mishaps.counts.total() == 8


def test_a_result_with_nothing_but_its_identity_answers_its_frame_and_is_not_given_out() -> None:
    tail = Tail("vehicles")
    tail.add(b'{"query": "vehicles", "stream": "camera", "run": "run", "seq": 3}')
    tail.add(to_json(result(4)))
    assert [found.seq for found in tail.recent("camera")] == [4]
    assert tail.answered(header(3))


def test_the_last_results_of_a_stream_are_given_once_in_order() -> None:
    tail = Tail("vehicles")
    for seq in range(RECENT_RESULTS + 10):
        tail.add(to_json(result(seq)))
    tail.add(to_json(result(0, stream="other")))
    assert [found.seq for found in tail.recent("camera")] == list(range(10, RECENT_RESULTS + 10))
    assert tail.recent("camera") == []
    assert tail.recent("other") == [result(0, stream="other")]


def test_results_of_a_later_minor_version_are_understood() -> None:
    tail = Tail("vehicles")
    tail.add(msgspec.json.encode({**msgspec.to_builtins(result(3)), "added_later": 1}))
    assert tail.answered(header(3))


class Told(KafkaResume):
    """Reads what it is told: values, or an error that cuts the reading off."""

    def __init__(self, *readings: list[bytes | Exception], recent_s: float = 0.0) -> None:
        super().__init__(BrokerSettings(("nowhere:1",)), "results", "vehicles", self._flushed, AT_ONCE, recent_s)
        self.readings = list(readings)
        self.since_s: list[float] = []
        self.log: list[str] = []

    async def _flushed(self) -> None:
        self.log.append("flush")

    async def _values(self, since_ms: float) -> AsyncIterator[tuple[bytes | None, str]]:
        self.since_s.append(since_ms / 1000)
        self.log.append("read")
        for value in self.readings.pop(0):
            if isinstance(value, Exception):
                raise value
            yield value, "somewhere"


async def test_what_is_on_its_way_to_the_topic_is_waited_for() -> None:
    told = Told([to_json(result(3))])
    await told.cover(1000.0)
    assert told.log == ["flush", "read"]
    assert told.answered(header(3))


async def test_the_tail_is_read_once_unless_an_older_frame_comes() -> None:
    told = Told([], [])
    for since_s in (1000.0, 1001.0, 1000.0, 900.0, 950.0):
        await told.cover(since_s)
    assert told.since_s == [1000.0 - resume.MARGIN_S, 900.0 - resume.MARGIN_S]


@pytest.mark.parametrize(("recent_s", "back_s"), [(120.0, 120.0), (1e5, resume.LONGEST_S)])
async def test_tracks_that_may_be_lost_for_long_have_the_tail_read_from_further_back(
    recent_s: float, back_s: float
) -> None:
    told = Told([], recent_s=recent_s)
    await told.cover(10_000.0)
    assert told.since_s == [10_000.0 - resume.MARGIN_S - back_s]


async def test_after_partitions_moved_the_tail_is_read_again() -> None:
    told = Told([to_json(result(3))], [to_json(result(4))])
    await told.cover(1000.0)
    told.reset()
    await told.cover(1000.0)
    assert not told.answered(header(3)), "what was read before the move is forgotten"
    assert told.answered(header(4))


async def test_a_reading_that_is_cut_off_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told([to_json(result(3)), RequestTimedOutError("nothing came")], [to_json(result(n)) for n in (3, 4)])
    await told.cover(1000.0)
    assert told.answered(header(3))
    assert told.answered(header(4)), "half a tail is not taken for the whole"


def test_who_takes_over_ends_each_track_once_and_begins_none_again() -> None:
    """Twenty-five frames a second, of which most are dropped; a worker ends somewhere among them."""
    shown = [result(seq) for seq in range(400)]
    for seq, each in enumerate(shown):
        seen = [thing(number) for number in range(1, 9) if seq in range(40 * number, 40 * number + 30)]
        info = replace(each.frame, media_time_s=seq / 25)
        outcome = "analysed" if seq % 4 == 0 else "dropped"
        shown[seq] = replace(each, frame=info, outcome=outcome, objects=seen if outcome == "analysed" else [])

    def events(lifecycle: Lifecycle, results: list[Result]) -> list[tuple[str, int, int]]:
        return [(event.type, event.track_id, event.seq) for each in results for event in lifecycle.step(each)]

    whole = events(Lifecycle(end_after_s=3), shown)
    assert sum(kind == "end" for kind, _, _ in whole) > 5
    for dies in range(20, 400, 20):
        tail, successor = Tail("vehicles", recent_s=3), Lifecycle(end_after_s=3)
        for each in shown[:dies]:
            tail.add(to_json(each))
        events(successor, tail.recent("camera"))
        assert events(successor, shown[dies:]) == [each for each in whole if each[2] >= dies], dies


def test_who_takes_over_knows_who_was_in_a_zone_and_was_lost_just_outside() -> None:
    inside, outside = [standing(0.9)], [standing(0.2)]
    seen = [*[inside] * 50, *[outside] * 12, *[[]] * 108]
    shown = [message(seq, *objects, media_time_s=seq / 32, query="vehicles") for seq, objects in enumerate(seen)]

    def events(lives: Lifecycles, results: list[Result]) -> list[tuple[str, int]]:
        return [(event.type, event.seq) for each in results for event in lives(each)]

    whole = events(Lifecycles(1e4, 3, RULES), shown)
    assert sorted(kind for kind, _ in whole) == ["cross", "end", "enter", "leave", "new"]
    for dies in range(20, 165):
        successor = Lifecycles(1e4, 3, RULES)
        tail = Tail("vehicles", successor.reach_s)
        for each in shown[:dies]:
            tail.add(to_json(each))
        events(successor, tail.recent("yard"))
        assert events(successor, shown[dies:]) == [each for each in whole if each[1] >= dies], dies


def test_results_that_say_no_time_are_bounded_in_number() -> None:
    recent = resume.RecentResults(recent_s=3)
    for seq in range(resume.MOST_RECENT + 10):
        recent.add("camera", b"%d" % seq)
    assert len(recent.pop("camera")) == resume.MOST_RECENT
