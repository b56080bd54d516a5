"""The figures of a stream are those of its last minutes, whatever comes, and memory is bounded."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from operators.wire.result import AuditedKind, Provenance
from operators.wire.schema import (
    Attribute,
    Detection,
    Model,
    NodeDecision,
    Plan,
    StreamPlan,
    StreamStatus,
    VariantSwitch,
    from_json,
)
from operators.wire.stream_plan import Phase
from pipelines.observe.live import board as boards
from pipelines.observe.live.board import Board
from pipelines.observe.live.cards import GONE_S
from pipelines.observe.live.sightings import MOST_EVENTS, MOST_TRACKS, Sightings
from pipelines.observe.live.stream_figures import MOST_OBJECTS, SAMPLES, SLOTS, StreamFigures
from pipelines.observe.live.views import MOST_MODELS, detail, picture, tile
from pipelines.observe.live.words import CAUSES, LONGEST, MOST_LINES, STATES, WHO, explained, standing, who
from pipelines.observe.metrics.causes import CAUSES as CODES
from pipelines.observe.metrics.causes import NODE_FAILED
from pipelines.report.explanation import explain
from tests.fake_clock import FakeClock
from tests.operators.publish.messages import AT, MODEL, result, thing
from tests.pipelines.observe.forward.notes import event
from tests.pipelines.observe.plans import specialised

STATIC = Path(boards.__file__).with_name("static")


def said(provenance: Any, looked: Any = None, label: str = "van") -> Attribute:
    return Attribute(name="type", label=label, confidence=0.9, provenance=provenance, looked=looked, model=MODEL)


def test_who_answered_is_told_in_one_word_of_the_legend() -> None:
    found = thing(1)
    boxes = [
        Detection(bounding_box=found.detection.bounding_box, confidence=1, label="car", provenance=each)
        for each in ("detector", "propagated")
    ]
    told = [who(replace(found, detection=box)) for box in boxes]
    for provenance, looked in [("oracle", None), ("track", None), ("track", "specialised"), ("reused", None)]:
        told.append(who(replace(found, attributes=[said(provenance, looked)])))
    assert told == ["detector", "propagated", "oracle", "track", "specialised", "track"]
    assert set(told) <= set(WHO)


def test_whoever_answers_has_a_word_and_every_kind_and_phase_a_name() -> None:
    found = thing(1)
    assert {who(replace(found, attributes=[said(each)])) for each in get_args(Provenance)} <= set(WHO)
    words = (STATIC / "words.js").read_text()
    for name in (*get_args(AuditedKind), *get_args(Phase)):
        assert re.search(rf"^  {name}: ", words, re.M)


def test_rate_latency_and_losses_are_those_of_the_last_minute() -> None:
    figures = StreamFigures(now_s=0.0)
    for number in range(200):
        late = number % 10 == 0
        plan = Plan(slo_ms=250, deadline_met=not late, latency_ms=400 if late else 30)
        figures.add(result(number, thing(1), plan=plan), now_s=number / 10)
    figures.add(result(200, outcome="dropped", cause="late"), now_s=20.0)
    figures.add(result(201, outcome="failed", cause="kind: ValueError: boom"), now_s=20.0)
    shown = tile("gate", figures, None, now_s=20.0)
    assert (shown["fps"], shown["latency_ms"], shown["slo_ms"]) == (10.0, 400, 250)
    assert (shown["analysed"], shown["late"]) == (200, 20)
    assert [(each["cause"], each["count"]) for each in shown["lost"]] == [("late", 1), ("node_failed", 1)]
    assert tile("gate", figures, None, now_s=200.0)["analysed"] == 0
    assert tile("gate", figures, None, now_s=200.0)["fps"] == 0


def test_a_short_life_counts_as_it_was() -> None:
    figures = StreamFigures(now_s=100.0)
    for number in range(10):
        figures.add(result(number), now_s=100.0 + number / 5)
    assert figures.fps(102.0) == 5.0


def test_a_rate_beyond_what_is_kept_is_told_all_the_same() -> None:
    figures = StreamFigures(now_s=0.0)
    for number in range(10_000):
        figures.add(result(number), now_s=number / 1000)
    assert figures.fps(10.0) == pytest.approx(1000, rel=0.05)


def test_whatever_comes_little_is_kept_and_shown() -> None:
    figures, crowd = StreamFigures(now_s=0.0), [thing(n, f"label {n}" * 30) for n in range(3000)]
    for number in range(SLOTS * 3):
        figures.add(result(number, *crowd, media_time_s=0.0), now_s=number * 5.0)
    now_s = SLOTS * 15.0
    assert len(figures.slots) == SLOTS
    assert len(figures.sightings.latest) == MOST_EVENTS
    shown = {**tile("gate", figures, None, now_s), **detail(figures, None, now_s)}
    assert shown["objects"] == 3000
    assert len(json.dumps(shown)) < 40_000
    assert len(json.loads(picture(result(0, *crowd), ""))["objects"]) == MOST_OBJECTS
    assert SAMPLES > 0


def test_silence_is_told() -> None:
    figures = StreamFigures(now_s=0.0)
    figures.add(result(0), now_s=1.0)
    assert tile("gate", figures, None, now_s=2.0)["group"] == "running"
    shown = tile("gate", figures, None, now_s=61.0)
    assert (shown["group"], shown["words"]) == ("silent", "No result for 60 s.")
    shown = tile("gate", figures, status("gate"), now_s=61.0)
    assert (shown["look"], shown["words"]) == ("idle", "The source is running, but no result has come for 60 s.")


@pytest.mark.parametrize(
    ("dropped", "look", "group", "word"),
    [
        (1, "good", "running", "running"),
        (20, "warn", "losing frames", "17 % lost"),
        (390, "bad", "losing frames", "80 % lost"),
    ],
)
def test_a_stream_that_loses_frames_does_not_count_as_running(dropped: int, look: str, group: str, word: str) -> None:
    board = Board(lambda: 0.0)
    board.in_state(status("yard"))
    for number in range(100):
        board.came(result(number))
    for number in range(dropped):
        board.came(result(100 + number, outcome="dropped", cause="late"))
    (shown,) = board.wall()["tiles"]
    assert (shown["look"], shown["group"], shown["word"]) == (look, group, word)
    assert ("% of the last minute" in shown["words"]) == (look != "good")


def test_tracks_come_are_named_and_leave() -> None:
    sightings = Sightings()
    sightings.see(at(0, thing(7, "car")))
    sightings.see(at(1, replace(thing(7, "car"), attributes=[said("oracle")])))
    sightings.see(at(2, replace(thing(7, "car"), attributes=[said("track")])))
    sightings.see(at(20, thing(8, "bus")))
    sightings.see(at(60))
    told = [
        (each.kind, each.track, each.label, round((each.at_s or 0) - AT.timestamp(), 3)) for each in sightings.latest
    ]
    # in the order in which it happened: that 7 had left was known after 8 had come
    assert told == [
        ("left", 8, "bus", 2.0),
        ("came", 8, "bus", 2.0),
        ("left", 7, "van", 0.2),
        ("named", 7, "van", 0.1),
        ("came", 7, "car", 0.0),
    ]


def at(seq: int, *found: Any) -> Any:
    """A result of a frame that was captured when its number says."""
    of = result(seq, *found)
    return replace(of, frame=replace(of.frame, captured_at=AT + timedelta(seconds=seq / 10)))


def test_what_happens_at_zones_and_lines_is_listed_among_them_when_it_happened() -> None:
    board = Board()
    board.came(result(0, thing(7, "car")))
    cross = event(type="cross", track_id=7, label="car", line="kerb", direction="left_to_right", at_media_time_s=0.4)
    later = AT + timedelta(seconds=0.7)
    cross = replace(cross, captured_at=later)
    leave = event(type="leave", zone="yard" * 100, captured_at=later)
    old = event(type="enter", zone="yard", captured_at=None)
    for found in (leave, cross, event(type="new"), event("nobody", type="enter"), old):
        board.event_found(found)
    shown = board.stream("yard")
    assert shown is not None
    entered, left, crossed, came = shown["events"]
    assert (entered["kind"], entered["at"]) == ("enter", None)
    assert crossed["at"] == pytest.approx(AT.timestamp() + 0.4, abs=1e-3)
    assert (crossed["kind"], crossed["place"], crossed["media_time_s"]) == ("cross", "kerb left to right", 0.4)
    assert (left["kind"], len(left["place"]), left["media_time_s"]) == ("leave", 60, 0.7)
    assert (came["kind"], came["place"]) == ("came", "")
    assert board.stream("nobody") is None


def test_events_of_a_clip_that_is_played_fast_and_of_the_next_run_stand_in_their_order() -> None:
    clock = [0.0]
    board = Board(lambda: clock[0])
    board.came(result(0, thing(7, "car"), run="r1"))
    for media_time_s, kind in ((0.5, "enter"), (0.6, "leave")):  # both known later, at the same time of day
        found = event(type=kind, zone="yard", run="r1", media_time_s=9.0, at_media_time_s=media_time_s, captured_at=AT)
        board.event_found(found)
    clock[0] = 1.0
    board.came(result(0, thing(8, "bus"), run="r2"))
    board.event_found(event(type="leave", zone="yard", run="r1", media_time_s=9.0, captured_at=AT))
    shown = board.stream("yard")
    assert shown is not None
    kinds = [(each["kind"], each["media_time_s"]) for each in shown["events"]]
    assert kinds == [("came", 0.0), ("leave", 9.0), ("leave", 0.6), ("enter", 0.5), ("left", 0.0), ("came", 0.0)]


def test_a_label_turns_nothing_around_that_stands_beside_it() -> None:
    board = Board(lambda: 0.0)
    board.came(result(0, thing(7, "\u202eevil")))
    board.event_found(event(type="enter", zone="yard\u202e", label="\u202eevil"))
    said = json.dumps([board.wall(), board.stream("yard")], ensure_ascii=False)
    assert "\u202e" not in said
    assert "\\u202eevil" in said


def test_a_track_of_the_next_run_with_the_same_number_is_another_one() -> None:
    sightings = Sightings()
    sightings.see(result(3, thing(7, "car"), run="r1"))
    sightings.see(result(4, thing(7, "bus"), run="r2"))
    told = [(each.kind, each.label) for each in sightings.latest]
    assert told == [("came", "bus"), ("left", "car"), ("came", "car")]
    assert [each.label for each, _ in sightings.without_thumbnail(result(5, thing(7, "bus"), run="r2"))] == ["bus"]


def test_what_happens_in_a_recording_that_is_read_fast_has_the_time_of_day_of_its_frame() -> None:
    """Twenty seconds of media time pass in two; an event is known some frames later."""
    sightings = Sightings()

    def read(media_time_s: float) -> datetime:
        return AT + timedelta(seconds=media_time_s / 10)

    for media_time_s in (0.0, 4.0, 8.0, 12.0, 16.0):
        seen = result(0, thing(7))
        frame = replace(seen.frame, media_time_s=media_time_s, captured_at=read(media_time_s))
        sightings.see(replace(seen, frame=frame))
    for kind, known_s, at_s in (("enter", 1.4, 1.0), ("leave", 20.0, 15.0)):
        said = event(type=kind, zone="yard", media_time_s=known_s, at_media_time_s=at_s, captured_at=read(known_s))
        sightings.passed(said)
    left, entered, came = sightings.latest
    assert [each.kind for each in (left, entered, came)] == ["leave", "enter", "came"]
    for each, at_s in ((left, 15.0), (entered, 1.0), (came, 0.0)):
        assert each.at_s == pytest.approx(read(at_s).timestamp(), abs=1e-3)


def test_an_event_of_which_nothing_earlier_was_seen_is_as_old_as_its_media_time_says() -> None:
    sightings = Sightings()
    sightings.passed(event(type="enter", zone="yard", media_time_s=1.4, at_media_time_s=1.0))
    assert [each.at_s for each in sightings.latest] == [pytest.approx(AT.timestamp() - 0.4, abs=1e-3)]


def test_tracks_that_never_leave_are_forgotten_in_their_order() -> None:
    sightings = Sightings()
    for number in range(10):
        sightings.see(result(0, *(thing(1000 * number + n) for n in range(MOST_TRACKS))))
    assert len(sightings._tracks) == MOST_TRACKS


def test_one_frame_is_explained_in_the_words_of_the_command_within_bounds() -> None:
    found = result(75, replace(thing(1, "car"), attributes=[said("track", "specialised")]), thing(2, "car"))
    lines = explained(found)
    assert lines == [line.strip() for line in explain(found)]
    assert "an exit of this stream" in " ".join(lines)
    many = explained(result(0, *(thing(number, 500 * "x") for number in range(MOST_LINES))))
    assert len(many) == MOST_LINES + 1
    assert many[-1] == "and 2 more lines", "of two lines about the frame and one about each object"
    assert max(map(len, many)) <= LONGEST


def test_states_and_causes_are_told_in_words() -> None:
    assert set(CAUSES) == {
        "late",
        "queue_full",
        "capture_overrun",
        "capture_buffer_full",
        "message_too_large",
        NODE_FAILED,
    }
    assert set(CAUSES) - {NODE_FAILED} <= CODES
    for state, (look, did) in STATES.items():
        if state != "running":
            said = standing(replace(status("a", state), message="nothing listens", frames=7), False, 0, 0)
            assert (said.look, said.word, said.words) == (look, state, f"The source {did}: nothing listens.")


@pytest.mark.parametrize("state", ["reconnecting", "stalled"])
def test_a_camera_that_never_came_has_not_come_yet_and_its_whole_reason_is_told(state: str) -> None:
    why = "nothing listens at 10.0.0.5:554, and " + 200 * "so on " + "to the end"
    board = Board(lambda: 0.0)
    board.in_state(replace(status("yard", state), reason="refused", message=why))
    (shown,) = board.wall()["tiles"]
    assert (shown["look"], shown["group"], shown["word"]) == ("warn", "not come yet", "not come yet: refused")
    assert shown["words"] == f"The source has not come yet: {why}."
    board.came(result(0))
    (shown,) = board.wall()["tiles"]
    assert shown["group"] == state


def status(stream: str, state: Any = "running") -> StreamStatus:
    return StreamStatus(stream=stream, run="r", state=state, reason=None, uri="", at=AT)


def test_streams_that_are_heard_of_keep_their_places_where_there_are_more() -> None:
    clock = FakeClock()
    board = Board(clock.monotonic_s, most_streams=3)
    for seq in range(20):
        for number in range(5):
            board.came(result(seq, stream=f"s{number}"))
        clock.advance(1.0)
    view = board.wall()
    assert [(each["stream"], each["analysed"]) for each in view["tiles"]] == [(f"s{number}", 20) for number in range(3)]
    assert view["more"] is True
    clock.advance(boards.MORE_S)
    board.came(result(20, stream="s4"))
    assert (board.streams, board.wall()["more"]) == (3, False)
    assert "s4" in [each["stream"] for each in board.wall()["tiles"]]


def test_states_of_long_ago_leave_their_places_to_streams_that_come_after_them() -> None:
    board = Board(lambda: 0.0, most_streams=3)
    for stream in ("old1", "old2", "old3", "old4", "yard"):
        board.in_state(status(stream, "ended" if stream != "yard" else "stalled"))
    board.came(result(0, stream="gate"))
    tiles = {each["stream"]: each["group"] for each in board.wall()["tiles"]}
    assert tiles == {"old4": "ended", "yard": "not come yet", "gate": "running"}
    assert board.wall()["more"] is False


def test_the_card_of_a_query_that_was_withdrawn_goes_and_that_of_a_silent_stream_stays() -> None:
    clock = FakeClock()
    board = Board(clock.monotonic_s)

    def cards() -> list[str]:
        return [each["stream"] for each in board.wall()["tiles"]]

    for stream in ("gate", "gate · faces", "yard"):
        board.came(result(0, stream=stream))
    clock.advance(GONE_S)
    board.came(result(1, stream="gate · faces"))
    assert cards() == ["gate", "gate · faces", "yard"]
    clock.advance(1.0)
    assert cards() == ["gate · faces", "yard"]
    board.came(result(1, stream="gate"))  # it was slow
    assert cards() == ["gate", "gate · faces", "yard"]
    clock.advance(2 * GONE_S)
    assert cards() == ["gate", "gate · faces", "yard"]


def test_the_board_shows_the_streams_that_were_heard_of_last() -> None:
    clock = FakeClock()
    board = Board(clock.monotonic_s, most_streams=3)
    for number in range(50):
        clock.advance(boards.SILENT_S)
        board.in_state(status(f"s{number}"))
        board.came(result(0, stream="busy"))
        board.planned([StreamPlan(stream=f"s{number}", query="q", at=AT, nodes=[specialised("kind")])])
    assert [each["stream"] for each in board.wall()["tiles"]] == ["busy", "s48", "s49"]
    assert len(board._states) <= 3
    assert len(board._plans) <= 3
    assert board.stream("s0") is None
    assert boards.MOST_STREAMS == 256


def test_a_streams_page_has_its_agreement_and_savings() -> None:
    board = Board(lambda: 0.0)
    board.planned([StreamPlan(stream="yard", query="q", at=AT, nodes=[specialised("kind")])])
    board.frame_analysed(result(0, replace(thing(1), attributes=[said("oracle")])))
    shown = board.stream("yard")
    assert shown is not None
    (node,) = shown["nodes"]
    assert (node["kind"], node["saved_s"], node["wanted"]) == ("specialised", -2.0, 0.9)
    assert shown["models"] == [[Model(name="vehicle-type", version="1", tier="reference").name, 1]]
    assert shown["timeline"] == [{"ago": 0, "who": {"oracle": 1}, "analysed": 1, "lost": 0}]


def test_a_streams_page_says_how_much_a_detector_is_shown() -> None:
    board = Board(lambda: 0.0)
    golden = Path(__file__).parents[3] / "golden" / "plan-detail.json"
    board.planned([replace(from_json(golden.read_bytes(), StreamPlan), stream="yard", query="q")])
    board.frame_analysed(result(0))
    shown = board.stream("yard")
    assert shown is not None
    (node,) = shown["nodes"]
    assert node["reason"] == (
        "it is shown 832 × 480, which costs 0.44 of the square on every frame; "
        "that is the widest that it takes of such pictures; what 416 pixels show agrees to 0.62 with 832 in 21 audits"
    )


def test_a_streams_page_shows_which_models_ran_when_and_the_latest_switches() -> None:
    now_s = 0.0
    board = Board(lambda: now_s)
    for seq in range(200):
        now_s = seq / 10
        model = "large" if seq < 150 else f"other-{seq}"
        nodes = {"type": NodeDecision(variant=model, objects=1), "fixed": NodeDecision(variant="only")}
        board.came(result(seq, plan=Plan(slo_ms=250, deadline_met=True, nodes=nodes)))
    switches = [VariantSwitch(node="type", at=AT, variant=f"m{n}", before="m", why="w" * 900) for n in range(9)]
    board.planned([StreamPlan(stream="yard", query="q", at=AT, nodes=[], switches=switches)])
    shown = board.stream("yard")
    assert shown is not None
    (strip,) = shown["variants"]
    assert (strip["node"], strip["models"][0], len(strip["models"])) == ("type", "large", MOST_MODELS)
    assert [(slot["ago"], slot["frames"][0]) for slot in strip["slots"]] == [(3, 50), (2, 50), (1, 50), (0, 0)]
    assert [each["variant"] for each in shown["switches"]] == ["m4", "m5", "m6", "m7", "m8"]
    assert all(len(each["why"]) <= 200 for each in shown["switches"])


def test_a_file_whose_frames_wait_is_never_late() -> None:
    board = Board(lambda: 0.0)
    board.unhurried = {"clip"}
    plan = Plan(slo_ms=250, deadline_met=False, latency_ms=400)
    for stream in ("clip", "gate"):
        board.came(result(0, stream=stream, plan=plan))
    clip, gate = board.wall()["tiles"]
    assert (clip["slo_ms"], clip["late"], clip["latency_ms"]) == (None, None, 400)
    assert (gate["slo_ms"], gate["late"]) == (250, 1)
