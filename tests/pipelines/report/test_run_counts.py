"""The report of a run: every frame counted once, percentiles right, memory bounded."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple, replace
from rich.console import Console

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.wire.schema import Plan, StreamPlan, StreamStatus
from operators.zones.visits import LineReport, ZoneReport
from pipelines.report.run_counts import MAX_CAUSES, OTHER_CAUSES, Percentiles, RunCounts
from pipelines.report.run_report import AuditReport, FrameCounts, Quantiles, TimeShares
from pipelines.report.text import render
from pipelines.report.tracks import Tracks
from tests.operators.publish.messages import AT, result, thing
from tests.pipelines.observe.plans import specialised
from tests.pipelines.report import specialised_story

GOLDEN = Path(__file__).with_name("run-report.json")
STAGES = {"capture": 4.0, "queue": 100.0, "decode": 6.0, "detect": 20.0, "type": 60.0, "framework": 10.0}


def full_counts() -> RunCounts:
    counts = RunCounts()
    counts.frame_analysed(result(0, thing(1, "car"), thing(2, "person"), stages_ms=STAGES))
    counts.frame_analysed(result(1, thing(1, "truck"), thing(None, "car"), stages_ms=STAGES))
    counts.frame_dropped(result(2, outcome="dropped", cause="queue_full"))
    counts.frame_failed(result(0, stream="gate", outcome="failed", cause="type: boom"))
    counts.frame_analysed(result(1, stream="gate", plan=Plan(slo_ms=250, deadline_met=False, latency_ms=400)))
    return counts


def test_frames_objects_tracks_and_causes_are_counted() -> None:
    report = full_counts().report(wall_s=2.0)
    assert report.frames == FrameCounts(sampled=5, analysed=3, dropped=1, failed=1)
    assert (report.wall_s, report.fps, report.late) == (2.0, 1.5, 1)
    assert report.objects == {"car": 2, "person": 1, "truck": 1}
    assert report.tracks == {"car": 1, "person": 1}
    assert report.causes == {"queue_full": 1, "type: boom": 1}
    assert report.streams["gate"].frames == FrameCounts(sampled=2, analysed=1, dropped=0, failed=1)


def test_files_whose_frames_wait_are_never_late() -> None:
    late = Plan(slo_ms=250, deadline_met=False, latency_ms=400)
    counts = RunCounts(unhurried={"clip"})
    counts.frame_analysed(result(0, stream="clip", plan=late))
    report = counts.report(wall_s=1.0)
    assert report.late is None
    out = io.StringIO()
    Console(file=out, width=150).print(render(report))
    assert out.getvalue().startswith("1 frame in 1.0 s: 1 analysed")
    assert "SLO" not in out.getvalue()
    counts.frame_analysed(result(0, stream="camera", plan=late))
    assert counts.report(wall_s=1.0).late == 1


def test_time_is_told_per_stage_and_by_share_without_waiting() -> None:
    report = full_counts().report(wall_s=2.0)
    assert report.share == TimeShares(decode=0.1, inference=0.8, framework=0.1)
    assert list(report.stages) == list(STAGES)
    assert report.stages["type"] == Quantiles(60, 60, 60)
    assert astuple(report.latency_ms) == pytest.approx((34, 400, 400), rel=0.01)


def test_the_report_says_in_a_line_who_looked_and_how_steady_answers_were() -> None:
    counts = RunCounts()
    known = thing(1, "car", "van")
    for seq, looked in enumerate(("oracle", None, None)):
        pooled = replace(known.attributes[0], provenance="track", looks=1, looked=looked)
        counts.frame_analysed(result(seq, replace(known, attributes=[pooled]), stages_ms=STAGES))
    out = io.StringIO()
    Console(file=out, width=150).print(render(counts.report(wall_s=1.0)))
    said = ": 3 answers by 1 looks (oracle 1), 1 a track; 0.0% of a track's answers differ from the one before"
    assert said in out.getvalue()


def test_a_report_of_nothing_is_still_a_report() -> None:
    report = RunCounts().report(wall_s=0.0)
    assert report.frames == FrameCounts(0, 0, 0, 0)
    assert report.latency_ms == Quantiles(None, None, None)
    assert report.share == TimeShares(0, 0, 0)
    assert json.loads(json.dumps(report.to_builtins())) == report.to_builtins()


def test_causes_are_bounded() -> None:
    counts = RunCounts()
    for seq in range(3 * MAX_CAUSES):
        counts.frame_failed(result(seq, outcome="failed", cause=f"cause {seq}"))
    causes = counts.report(1.0).causes
    assert len(causes) == MAX_CAUSES + 1
    assert causes[OTHER_CAUSES] == 2 * MAX_CAUSES


def test_tracks_are_counted_once_however_many_there_are() -> None:
    tracks = Tracks(remembered=10)
    for number in range(1000):
        for _ in range(3):
            tracks.see(("yard", "r1", number), "car")
    assert tracks.counts() == {"car": 1000}


def test_a_track_is_what_it_was_called_most_often() -> None:
    tracks = Tracks()
    for label in ("moving", "car", "car", "truck", "car", "other"):
        tracks.see(("yard", "r1", 7), label)
    assert tracks.counts() == {"car": 1}


def test_tracks_have_the_labels_that_a_count_from_the_beginning_finds() -> None:
    rng, tracks, said = random.Random(5), Tracks(), dict[int, Counter[str]]()
    for _ in range(500):
        number, label = rng.randrange(8), rng.choice(("car", "van", "truck"))
        tracks.see(("yard", "r1", number), label)
        said.setdefault(number, Counter())[label] += 1
        assert tracks.counts() == Counter(labels.most_common(1)[0][0] for labels in said.values())


def test_people_can_read_it() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(full_counts().report(2.0)))
    text = captured.get()
    assert "5 frames in 2.0 s: 3 analysed (1.5 per second), 1 dropped, 1 failed, 1 later than the SLO" in text
    assert "not analysed because: queue_full 1, type: boom 1" in text
    assert "capture to result" in text
    assert "time spent: decode 10%, inference 80%, framework 10%" in text


def switched_off() -> StreamPlan:
    """What is published of a shortcut that agreed in half of its audits."""
    audit = Audit(Rule(0.97))
    while (ticket := audit.in_shadow()) is not None:
        audit.by_oracle()
        audit.tell(ticket, agrees=audit.state.audits % 2 == 0)
    audit.by_oracle(20)
    return StreamPlan(
        stream="yard", query="q", at=AT, nodes=[node_plan(Audited("type", "variant", "big", ["small"]), audit)]
    )


def test_what_the_audits_found_is_told_with_its_reasons() -> None:
    report = full_counts().report(2.0, [switched_off()])
    (audit,) = report.audits
    found, agreement = audit.plan, audit.plan.agreement
    assert (audit.stream, found.node, found.phase) == ("yard", "type", "off")
    assert agreement.audits == found.audits == found.answers - 20
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print(render(report))
    text = " ".join(captured.get().split())
    low = agreement.exact.low
    assert f"yard type off 0% {found.audits} {agreement.found:.3f} {low:.3f}–" in text
    assert "yard type: off after" in text
    assert "objects: a shortcut agrees too seldom: in 0." in text


def test_audits_in_which_the_oracle_was_not_sure_are_told_apart() -> None:
    audit = Audit(Rule(0.97))
    for _ in range(3):
        audit.tell(audit.in_shadow() or pytest.fail("off"), None)
    plan = StreamPlan(
        stream="yard", query="q", at=AT, nodes=[node_plan(Audited("type", "variant", "big", ["small"]), audit)]
    )
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(full_counts().report(2.0, [plan])))
    text = captured.get()
    assert "yard type: in 3 more audits the oracle itself was not sure; they do not count" in text


def test_the_report_says_why_a_shortcut_does_not_answer() -> None:
    plain = node_plan(Audited("type", "cached", "big", ["big"]), Audit(Rule(0.97)))
    nodes = [msgspec.structs.replace(plain, reason="exits are not used: none are made yet")]
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(full_counts().report(2.0, [StreamPlan(stream="yard", query="q", at=AT, nodes=nodes)])))
    assert "yard type cached: exits are not used: none are made yet" in captured.get()


@pytest.mark.parametrize(("phase", "said"), [("shadow", "would be lost"), ("probation", "lost")])
def test_the_report_says_how_many_names_a_shortcut_has_lost(phase: str, said: str) -> None:
    audit = Audit(Rule(0.5))
    for agrees, lost in ((True, None), (True, False), (True, False), (True, False), (False, True)):
        audit.tell(audit.in_shadow() or pytest.fail("off"), agrees, lost)
    plan = node_plan(Audited("type", "variant", "big", ["small"]), audit)
    nodes = [msgspec.structs.replace(plan, phase=phase)]
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(full_counts().report(2.0, [StreamPlan(stream="yard", query="q", at=AT, nodes=nodes)])))
    assert f"yard type: names that big gave: 1 of 4 {said} (0.006–0.895)" in captured.get()


def test_the_json_of_a_report_keeps_its_shape() -> None:
    """People's scripts read it: keys are added, and neither renamed nor taken away."""
    counts = full_counts()
    counts.stream_state_changed(failed_stream())
    report = counts.report(2.0, [specialised_story.plan(), switched_off()])
    assert json.dumps(report.to_builtins(), indent=2) + "\n" == GOLDEN.read_text()


def test_the_report_names_streams_that_never_gave_a_frame_and_why() -> None:
    counts, lost = full_counts(), failed_stream()
    for stream, said in (
        (
            "ramp",
            [("starting", None, None), ("reconnecting", "refused", "nothing listens"), ("ended", None, "stopped")],
        ),
        ("door", [("starting", None, None), ("running", None, None), ("ended", None, "20 frames")]),
        ("yard", [("reconnecting", "timeout", "no answer")]),  # which has given frames
        ("shed", [("starting", None, None), ("failed", "not_found", "no such file")]),
    ):
        for state, reason, message in said:
            status = msgspec.structs.replace(lost, stream=stream, state=state, reason=reason, message=message)
            counts.stream_state_changed(status)
    report = counts.report(2.0)
    assert {name: (each.reason, each.message) for name, each in report.silent_streams.items()} == {
        "door": (None, None),
        "ramp": ("refused", "nothing listens"),
    }
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(report))
    assert "stream ramp never gave a frame (refused): nothing listens\n" in captured.get()
    assert "stream door never gave a frame\n" in captured.get()
    assert "stream shed failed (not_found): no such file\n" in captured.get()


def failed_stream() -> StreamStatus:
    return StreamStatus(
        stream="yard",
        run="r1",
        state="failed",
        reason="lost",
        message="gone",
        uri="rtsp://yard",
        at=AT,
        frames=3,
        restarts=0,
    )


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_within_one_percent(durations: list[float], share: float) -> None:
    percentiles = Percentiles()
    for duration in durations:
        percentiles.add(duration)
    ranked = sorted(durations)
    exact = ranked[max(0, -(-round(share * 100) * len(ranked) // 100) - 1)]
    assert percentiles.at(share) == pytest.approx(exact, rel=0.0101)


def test_durations_of_nothing_count() -> None:
    percentiles = Percentiles()
    percentiles.add(0.0)
    assert percentiles.at(0.5) == 0.0


def test_the_closing_tables_fit_a_terminal() -> None:
    plan, out = specialised("vehicle_type"), io.StringIO()
    assert plan.specialization is not None
    report = replace(full_counts().report(wall_s=2.0), audits=[AuditReport("front-door", plan)])
    Console(file=out, width=80).print(render(report))
    assert "…" not in out.getvalue()
    for heading in ("special", "cascade", "set in", "speed-up", "at any time", "wanted"):
        assert heading in out.getvalue()
    for word in ("front-door", "vehicle_type"):
        assert word in out.getvalue()


def test_zones_and_lines_are_said_in_words() -> None:
    lines = [LineReport("yard", "gate", {"car": 2, "bus": 1}, {"car": 1}), LineReport("yard", "door", {}, {"car": 1})]
    zones = [ZoneReport("yard", "lot", {"car": 2}, 4.5, 7.0), ZoneReport("yard", "ramp", {"car": 1}, None, None)]
    out = io.StringIO()
    report = replace(full_counts().report(wall_s=2.0), lines=lines, zones=zones)
    Console(file=out, width=150).print(render(report))
    for line in (
        "yard gate: crossed 3 left to right (car 2, bus 1), 1 right to left (car 1)",
        "yard door: crossed 0 left to right, 1 right to left (car 1)",
        "yard lot: entered 2 (car 2), stayed 4.5 s on average, 7.0 s at most",
        "yard ramp: entered 1 (car 1)",
    ):
        assert line in map(str.strip, out.getvalue().splitlines())
