"""What is counted, listed and said of a whole recording."""

from __future__ import annotations

import json

import pytest

from operators.wire.schema import Object, Result
from pipelines.observe.record.reading import RecordedFrame
from pipelines.run.replay import words
from pipelines.run.replay.comparison import MOST_STREAMS, MOST_WORST, REST, Comparison
from tests.operators.publish.messages import result, thing


def frame(found: Result, episode: int = 1, place: int = 0) -> RecordedFrame:
    return RecordedFrame(episode, place, found, b"jpeg")


def take(into: Comparison, seq: int, before: list[Object], after: list[Object], stream: str = "yard") -> None:
    into.take(frame(result(seq, *before, stream=stream), place=seq), result(seq, *after, stream=stream))


def test_each_stream_is_counted_and_the_worst_frames_are_listed_first() -> None:
    found = Comparison()
    for seq in range(10):
        take(found, seq, [thing()], [thing()])
    take(found, 10, [thing(None, "car", "van")], [thing(None, "car", "truck")])
    take(found, 11, [thing(confidence=0.2)], [])
    take(found, 0, [thing()], [thing(), thing(None, "person")], "gate")
    gate, yard = found.streams()
    assert (gate.stream, gate.frames, gate.objects, gate.changed, gate.new, gate.share) == ("gate", 1, 2, 1, 1, 0.5)
    assert (yard.frames, yard.objects, yard.changed, yard.lost, yard.answers) == (12, 12, 2, 1, 1)
    assert found.share == 3 / 14
    assert [each.frame.place for each in found.worst] == [10, 0, 11]
    assert found.worst[0].frame.jpeg == b""


def test_what_leads_in_to_an_episode_is_not_compared_but_where_the_run_itself_begins() -> None:
    found = Comparison()
    for seq in range(100, 140):
        take(found, seq, [thing()], [])
    assert (found.lead_in, found.compared) == (20, 20)
    for seq in range(10):
        take(found, seq, [thing()], [])
    assert (found.lead_in, found.compared) == (30, 20)  # the same run goes on in the same episode
    found = Comparison()
    for seq in range(10):
        take(found, seq, [thing()], [])
    assert (found.lead_in, found.compared) == (0, 10)


def test_frames_that_cannot_be_read_and_frames_that_fail_now() -> None:
    found = Comparison()
    found.take(RecordedFrame(1, 0, fault="is no file"), None)
    found.take(frame(result(0)), None)
    found.take(frame(result(1, outcome="dropped")), result(1))
    take(found, 2, [thing()], [thing()])
    assert (found.seen, found.unreadable, found.compared) == (4, 2, 0)
    found = Comparison()
    found.take(frame(result(0, thing())), result(0, outcome="failed"))
    assert (found.compared, found.streams()[0].not_analysed, found.share) == (1, 1, 0.0)
    assert words.is_too_much(found, words.About(1.0))


def test_whatever_a_recording_holds_little_is_kept_of_it() -> None:
    found = Comparison()
    for number in range(MOST_STREAMS + 50):
        take(found, 0, [thing()], [], f"stream {number}")
    assert len(found.streams()) == MOST_STREAMS + 1
    assert sum(each.lost for each in found.streams()) == MOST_STREAMS + 50
    assert [each.lost for each in found.streams() if each.stream == REST] == [50]
    assert len(found.worst) == MOST_WORST


def test_it_is_said_in_80_columns_and_in_json() -> None:
    found, about = Comparison(), words.About(0.05, ["onnxruntime was 1, and is 2 now"])
    for seq in range(95):
        take(found, seq, [thing()], [thing()])
    for seq in range(95, 100):
        take(found, seq, [thing(None, "car")], [thing(None, "\x1b[31mtruck")])
    said = words.lines(found, about)
    assert said[:2] == ["onnxruntime was 1, and is 2 now", "100 frames compared of 100: 0 lead in"]
    assert said[2:4] == [
        "stream   frames  objects     lost      new  renamed  answers  changed",
        "yard        100      100        0        0        5        0     5.0%",
    ]
    assert said[5] == "  000001/00095.jpg yard 9.50 s: car → \\x1b[31mtruck 80 %"
    assert said[-1] == "5.0% of the objects have changed: within the 5.0% that may change"
    assert max(map(len, said)) <= 80
    shown = json.loads(json.dumps(words.as_json(found, about)))
    assert (shown["ok"], shown["changed"], shown["streams"][0]["renamed"]) == (True, 0.05, 5)
    assert shown["worst"][0]["differences"][0]["kind"] == "renamed"
    strict = words.About(0.049)
    assert words.lines(found, strict)[-1].endswith("more than the 4.9% that may change")
    assert words.as_json(found, strict)["ok"] is False


def test_many_differences_of_a_frame_are_named_in_part() -> None:
    found = Comparison()
    boxes = [thing(None, f"thing {n}", confidence=n / 10) for n in range(6)]
    take(found, 0, boxes[:1], boxes[1:])
    (line,) = [line for line in words.lines(found, words.About(0.0)) if "yard 0.00 s" in line]
    assert line.endswith("new thing 5 50 %; new thing 4 40 %; new thing 3 30 %; new thing 2 20 %; 1 more")


@pytest.mark.parametrize(("changed", "tolerance", "too_much"), [(0, 0.0, False), (1, 0.0, True), (1, 1.0, False)])
def test_the_verdict(changed: int, tolerance: float, too_much: bool) -> None:
    found = Comparison()
    take(found, 0, [thing()], [] if changed else [thing()])
    assert words.is_too_much(found, words.About(tolerance)) is too_much
