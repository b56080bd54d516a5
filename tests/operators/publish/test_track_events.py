"""Tracks begin, change and end exactly once."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.publish.track_events import Lifecycle
from operators.wire.schema import Event, Object, Provenance, Result
from tests.operators.publish.messages import AT, result, thing


def tell(results: list[Result], lifecycle: Lifecycle | None = None) -> list[tuple[str, int, int]]:
    lifecycle = lifecycle or Lifecycle(update_every_s=10, end_after_s=3)
    return [(event.type, event.track_id, event.seq) for each in results for event in lifecycle.step(each)]


def at(seconds: float, *objects: Object, **changes: object) -> Result:
    return result(round(seconds * 10), *objects, **changes)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([at(0)], []),
        ([at(0, thing())], []),  # no track yet
        ([at(0, thing(7)), at(1, thing(7))], [("new", 7, 0)]),
        ([at(0, thing(7), thing(8))], [("new", 7, 0), ("new", 8, 0)]),
        ([at(0, thing(7)), at(1, thing(7, "bus"))], [("new", 7, 0), ("update", 7, 10)]),
        ([at(0, thing(7)), at(1, thing(7, "car", "van"))], [("new", 7, 0), ("update", 7, 10)]),
        ([at(0, thing(7, "car", "van")), at(1, thing(7, "car", "van"))], [("new", 7, 0)]),
        ([at(s, thing(7)) for s in range(25)], [("new", 7, 0), ("update", 7, 100), ("update", 7, 200)]),
        ([at(0, thing(7)), at(3), at(3.1)], [("new", 7, 0), ("end", 7, 31)]),
        ([at(0, thing(7)), at(2), at(4, thing(7)), at(6.9)], [("new", 7, 0)]),
        ([at(0, thing(7)), at(5, thing(7))], [("new", 7, 0)]),  # nobody looked in between
        ([at(0, thing(7)), at(5, outcome="dropped"), at(5.1, thing(7))], [("new", 7, 0)]),
        ([at(0, thing(7)), at(0, thing(7), thing(8))], [("new", 7, 0)]),  # a repeated frame
        ([at(0, thing(7)), at(0, thing(7), run="r2")], [("new", 7, 0), ("end", 7, 0), ("new", 7, 0)]),
    ],
)
def test_events(results: list[Result], expected: list[tuple[str, int, int]]) -> None:
    assert tell(results) == expected


def test_an_event_says_what_is_known_of_the_track() -> None:
    lifecycle = Lifecycle(end_after_s=3)
    for each in (at(1, thing(7)), at(2, thing(7, "car", "van"))):
        lifecycle.step(each)
    (end,) = lifecycle.step(at(9, run="r1"))
    assert (end.type, end.stream, end.run, end.seq, end.label) == ("end", "yard", "r1", 90, "car")
    assert (end.first_media_time_s, end.last_media_time_s, end.media_time_s) == (1, 2, 9)
    assert [answer.label for answer in end.attributes] == ["van"]


def test_an_event_says_when_its_frame_was_captured() -> None:
    (event,) = Lifecycle().step(at(0, thing(7)))
    assert event.captured_at == AT


def test_a_revised_answer_of_a_track_is_an_update_and_another_look_that_agrees_is_none() -> None:
    def pooled(label: str, looks: int, looked: Provenance | None) -> Object:
        known = thing(7, "car", label)
        (said,) = known.attributes
        said = replace(said, provenance="track", looks=looks, looked=looked, confidence=looks / 10)
        return replace(known, attributes=[said])

    seen = [pooled("van", 1, "oracle"), pooled("van", 1, None), pooled("van", 2, "oracle"), pooled("bus", 3, "oracle")]
    told = tell([at(second, each) for second, each in enumerate(seen)])
    assert told == [("new", 7, 0), ("update", 7, 30)]


def test_the_end_of_a_run_belongs_to_it() -> None:
    lifecycle = Lifecycle()
    lifecycle.step(at(5, thing(7)))
    (end,) = lifecycle.step(at(0, run="r2"))
    assert (end.run, end.seq, end.media_time_s) == ("r1", 50, 5)


def test_finish_ends_what_is_left_once() -> None:
    lifecycle = Lifecycle()
    lifecycle.step(at(0, thing(7)))
    assert [(event.type, event.track_id) for event in lifecycle.finish()] == [("end", 7)]
    assert lifecycle.finish() == []


def test_with_the_past_stepped_through_it_goes_on_as_if_it_had_never_stopped() -> None:
    results = [at(s / 2, *([thing(7)] if s % 9 < 5 else []), *([thing(8, "bus")] if s > 3 else [])) for s in range(60)]
    uninterrupted = tell(results)
    lifecycle = Lifecycle(update_every_s=10, end_after_s=3)
    tell(results[:31], lifecycle)
    assert tell(results[31:], lifecycle) == [event for event in uninterrupted if event[2] >= results[31].seq]


frames = st.lists(
    st.tuples(st.dictionaries(st.integers(1, 4), st.sampled_from(["car", "bus"]), max_size=4), st.floats(0.1, 5)),
    max_size=20,
)


@given(frames)
def test_every_track_lives_in_order(sequence: list[tuple[dict[int, str], float]]) -> None:
    lifecycle, events, now_s = Lifecycle(update_every_s=2, end_after_s=3), list[Event](), 0.0
    for seq, (seen, gap_s) in enumerate(sequence):
        now_s += gap_s
        objects = [thing(number, label) for number, label in seen.items()]
        events += lifecycle.step(result(seq, *objects, media_time_s=now_s))
    events += lifecycle.finish()
    lives = defaultdict[int, str](str)
    for event in events:
        lives[event.track_id] += event.type[0]
    for life in lives.values():
        assert all(part.startswith("n") and part.count("n") == 1 for part in life.split("e")[:-1])
        assert life.endswith("e")


YEARS_S = 9 * 365 * 86_400.0


@pytest.mark.parametrize("odd_s", [YEARS_S, -YEARS_S])
def test_one_frame_with_an_odd_media_time_costs_nothing_of_what_comes_after_it(odd_s: float) -> None:
    lifecycle = Lifecycle(update_every_s=10, end_after_s=3)
    tell([at(0, thing(7)), result(5, thing(7), thing(8), media_time_s=odd_s)], lifecycle)
    told = [(kind, track) for kind, track, _ in tell([at(s, thing(7)) for s in range(1, 40)], lifecycle)]
    assert ("end", 8) in told, "what only the odd frame showed ends like any other"
    assert told.count(("update", 7)) >= 3
    assert ("new", 7) not in told


def test_one_frame_with_an_odd_number_costs_nothing_of_what_comes_after_it() -> None:
    lifecycle = Lifecycle()
    tell([at(0, thing(7)), result(2**53 - 1, media_time_s=0.1)], lifecycle)
    assert tell([at(0.2, thing(8))], lifecycle) == [("new", 8, 2)]
