"""The report of a run: every frame counted once, percentiles right, memory bounded."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cache_adapt.audit import Audit
from cache_adapt.audit_state import Rule
from operators.recognise.audit_report import node_plan
from operators.schema import Plan, StreamPlan
from pipelines.percentiles import Percentiles
from pipelines.report import MAX_CAUSES, OTHER_CAUSES, Report, Tracks
from pipelines.report_text import render
from tests.operators.publish.messages import AT, result, thing

STAGES = {"capture": 4.0, "queue": 100.0, "decode": 6.0, "detect": 20.0, "type": 60.0, "framework": 10.0}


def full_report() -> Report:
    report = Report()
    report.write(result(0, thing(1, "car"), thing(2, "person"), stages_ms=STAGES))
    report.write(result(1, thing(1, "truck"), thing(None, "car"), stages_ms=STAGES))
    report.write(result(2, outcome="dropped", cause="queue_full"))
    report.write(result(0, stream="gate", outcome="failed", cause="type: boom"))
    report.write(result(1, stream="gate", plan=Plan(slo_ms=250, deadline_met=False, latency_ms=400)))
    return report


def test_frames_objects_tracks_and_causes_are_counted() -> None:
    summary = full_report().summary(wall_s=2.0)
    assert summary["frames"] == {"sampled": 5, "analysed": 3, "dropped": 1, "failed": 1}
    assert (summary["wall_s"], summary["fps"], summary["late"]) == (2.0, 1.5, 1)
    assert summary["objects"] == {"car": 2, "person": 1, "truck": 1}
    assert summary["tracks"] == {"car": 1, "person": 1}
    assert summary["causes"] == {"queue_full": 1, "type: boom": 1}
    assert summary["streams"]["gate"]["frames"] == {"sampled": 2, "analysed": 1, "dropped": 0, "failed": 1}


def test_time_is_told_per_stage_and_by_share_without_waiting() -> None:
    summary = full_report().summary(wall_s=2.0)
    assert summary["share"] == {"decode": 0.1, "inference": 0.8, "framework": 0.1}
    assert list(summary["stages"]) == list(STAGES)
    assert summary["stages"]["type"] == {"p50": 60, "p95": 60, "p99": 60}
    assert summary["latency_ms"] == pytest.approx({"p50": 34, "p95": 400, "p99": 400}, rel=0.01)


def test_a_report_of_nothing_is_still_a_report() -> None:
    summary = Report().summary(wall_s=0.0)
    assert summary["frames"] == {"sampled": 0, "analysed": 0, "dropped": 0, "failed": 0}
    assert summary["latency_ms"] == {"p50": None, "p95": None, "p99": None}
    assert summary["share"] == {"decode": 0, "inference": 0, "framework": 0}
    assert json.loads(json.dumps(summary)) == summary


def test_causes_are_bounded() -> None:
    report = Report()
    for seq in range(3 * MAX_CAUSES):
        report.write(result(seq, outcome="failed", cause=f"cause {seq}"))
    causes = report.summary(1.0)["causes"]
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


def test_people_can_read_it() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(render(full_report().summary(2.0)))
    text = captured.get()
    assert "5 frames in 2.0 s: 3 analysed (1.5 per second), 1 dropped, 1 failed, 1 later than the SLO" in text
    assert "not analysed because: queue_full 1, type: boom 1" in text
    assert "capture to result" in text
    assert "time spent: decode 10%, inference 80%, framework 10%" in text


def test_what_the_audits_found_is_told_with_its_reasons() -> None:
    audit = Audit(Rule(0.97))
    while audit.uses_shortcut:
        ticket = audit.by_shortcut(0.0)
        assert ticket is not None
        audit.tell(ticket, agrees=audit.state.audits % 2 == 0)
    audit.by_oracle(20)
    plan = StreamPlan(stream="yard", query="q", at=AT, nodes=[node_plan("type", "variant", "big", ["small"], audit)])
    summary = full_report().summary(2.0, [plan])
    (found,) = summary["audits"]
    assert json.loads(json.dumps(summary)) == summary
    assert (found["stream"], found["node"], found["phase"]) == ("yard", "type", "off")
    assert found["agreement"]["audits"] == found["audits"] == found["answers"] - 20
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print(render(summary))
    text = " ".join(captured.get().split())
    share, low = f"{found['shortcut_share']:.0%}", found["agreement"]["exact"]["low"]
    assert f"yard type off {share} {found['audits']} {found['agreement']['found']:.3f} {low:.3f}–" in text
    assert "yard type: off after" in text
    assert "answers: a shortcut agrees too seldom: in 0." in text


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
