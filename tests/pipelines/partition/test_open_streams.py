"""Which streams a worker holds the state of."""

from __future__ import annotations

import logging
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.partition.open_streams import OpenStreams
from pipelines.settings import StreamBounds


class Bench:
    """Streams under given bounds, and what was dropped."""

    def __init__(self, max_streams: int = 3, silent_s: float = 100.0) -> None:
        self.dropped: list[str] = []
        self.busy: set[str] = set()
        bounds = StreamBounds(max_streams, silent_s)
        self.streams = OpenStreams(bounds, self.dropped.append, self.busy.__contains__)

    def meet(self, *names: str, partition: int = 0, now_s: float = 0.0) -> list[bool]:
        return [self.streams.meet(name, partition, now_s) for name in names]


def test_a_stream_is_new_once() -> None:
    bench = Bench()
    assert bench.meet("gate", "gate", "yard", "gate") == [True, False, True, False]
    assert bench.dropped == []


def test_the_least_recently_seen_is_dropped_and_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(max_streams=2)
    bench.meet("gate", "yard", "gate", "door", "roof")
    assert bench.dropped == ["yard", "gate"]
    assert bench.meet("gate") == [True]
    (line,) = (record.getMessage() for record in caplog.records)
    assert "more than 2 streams" in line
    assert "SLUICE_MAX_STREAMS" in line


def test_a_silent_stream_is_dropped_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench()
    bench.meet("gate", now_s=0)
    bench.meet("yard", now_s=60)
    bench.meet("yard", now_s=100)
    assert bench.dropped == []
    bench.meet("yard", now_s=101)
    assert bench.dropped == ["gate"]
    assert caplog.records == []


def test_a_busy_stream_stays_until_it_is_done() -> None:
    bench = Bench(max_streams=1)
    bench.busy.add("gate")
    bench.meet("gate", "yard", "door")
    assert bench.dropped == []
    bench.busy.clear()
    bench.meet("door")
    assert bench.dropped == ["gate", "yard"]


def test_streams_of_partitions_that_moved_away_are_dropped() -> None:
    bench = Bench()
    bench.meet("gate", partition=1)
    bench.meet("yard", partition=2)
    bench.streams.keep({2})
    assert bench.dropped == ["gate"]
    bench.streams.keep(())
    assert bench.dropped == ["gate", "yard"]


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2), st.floats(0, 50))),
    st.integers(1, 5),
    st.floats(1, 100),
)
def test_state_is_made_and_dropped_in_turns_and_never_more_than_the_bound(
    frames: list[tuple[str, int, float]], max_streams: int, silent_s: float
) -> None:
    bench, made, now_s = Bench(max_streams, silent_s), defaultdict[str, int](int), 0.0
    for stream, partition, elapsed_s in frames:
        now_s += elapsed_s
        made[stream] += bench.meet(stream, partition=partition, now_s=now_s)[0]
        assert made[stream] - bench.dropped.count(stream) == 1, "the stream of the frame at hand has its state"
        assert sum(made.values()) - len(bench.dropped) == len(bench.streams) <= max_streams


def test_a_hundred_thousand_names_leave_a_bounded_number() -> None:
    bench = Bench(max_streams=64)
    for number in range(100_000):
        bench.meet(f"stream-{number}", now_s=number / 1000)
    assert len(bench.streams) == 64
