"""What Prometheus is told is what happened; memory is bounded whatever streams are called and however many come."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from operators.testing.builders import make_frame
from operators.wire.schema import Attribute, Detection, Model, Plan, StreamStatus
from pipelines.observe.metrics import families
from pipelines.observe.metrics.families import RECORDED, Family
from pipelines.observe.metrics.recorder import MetricsRecorder
from tests.operators.publish.messages import AT, result, thing

HOSTILE = 'gate"} 1\\ {x="<script>'


class Watched(MetricsRecorder):
    def __init__(self, most_streams: int = 10) -> None:
        self.registry = CollectorRegistry()
        super().__init__(self.registry, most_streams)

    def value(self, family: Family, suffix: str = "", /, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"{family.sample}{suffix}", labels)


def status(state: Any, reason: str | None = None, stream: str = "gate") -> StreamStatus:
    return StreamStatus(stream=stream, run="r", state=state, reason=reason, uri="rtsp://a", at=AT)


def test_the_registry_holds_the_families_that_are_listed_and_no_others() -> None:
    shown = {(each.name, each.type, each.documentation) for each in Watched().registry.collect()}
    assert shown == {(each.name, each.kind, each.help) for each in RECORDED}


def test_frames_are_counted_by_outcome_and_cause_and_timed() -> None:
    seen = Watched()
    stages = {"queue": 100.0, "detect": 20.0}
    seen.frame_analysed(result(0, stages_ms=stages))
    seen.frame_analysed(result(1, plan=Plan(slo_ms=250, deadline_met=False, latency_ms=400)))
    unknown = Plan(slo_ms=250, deadline_met=False, latency_ms=9e9, latency_known=False)
    seen.frame_analysed(result(2, plan=unknown))
    seen.frame_dropped(result(3, outcome="dropped", cause="late"))
    seen.frame_dropped(result(4, outcome="dropped", cause="whatever somebody sends"))
    seen.frame_failed(result(5, outcome="failed", cause="image_too_large: it claims"))
    seen.frame_failed(result(6, outcome="failed", cause="kind: ValueError: boom"))
    stream, query = result(0).stream, result(0).query
    found = {
        (outcome, cause): seen.value(families.FRAMES, stream=stream, query=query, outcome=outcome, cause=cause)
        for outcome, cause in [
            *(("analysed", ""), ("dropped", "late"), ("dropped", "other")),
            *(("failed", "image_too_large"), ("failed", "node_failed")),
        ]
    }
    assert list(found.values()) == [3, 1, 1, 1, 1]
    assert seen.value(families.LATE, stream=stream, query=query) == 1
    assert seen.value(families.LATENCY, "_count", stream=stream, query=query) == 2
    assert seen.value(families.STAGE, "_sum", stage="queue") == pytest.approx(0.1)
    assert seen.value(families.SLO, query=query) == 0.25


def test_files_whose_frames_wait_are_never_late() -> None:
    seen = Watched()
    seen.unhurried, query = {"clip"}, result(0).query
    for stream in ("clip", "gate"):
        seen.frame_analysed(result(0, stream=stream, plan=Plan(slo_ms=250, deadline_met=False, latency_ms=400)))
    assert [seen.value(families.LATE, stream=stream, query=query) for stream in ("clip", "gate")] == [0, 1]


def answer(provenance: Any, looked: Any = None) -> Attribute:
    model = Model(name="m", version="1", tier="oracle")
    return Attribute(name="type", label="car", confidence=0.9, provenance=provenance, looked=looked, model=model)


def test_answers_are_counted_by_who_looked() -> None:
    seen, found = Watched(), thing(1, "car")
    answers = [answer("track"), answer("track", "specialised"), answer("oracle"), answer("track", "oracle")]
    carried = Detection(bounding_box=found.detection.bounding_box, confidence=0.9, label="car", provenance="propagated")
    seen.frame_analysed(result(0, replace(found, attributes=answers), replace(found, detection=carried)))
    stream = result(0).stream
    counts = {who: seen.value(families.ANSWERS, stream=stream, provenance=who) for who in ("track", "specialised")}
    assert counts == {"track": 1, "specialised": 1}
    assert seen.value(families.ANSWERS, stream=stream, provenance="oracle") == 2
    assert seen.value(families.DETECTIONS, stream=stream, provenance="propagated") == 1


def test_a_stream_is_in_one_state() -> None:
    seen = Watched()
    for each in (status("starting"), status("running"), status("reconnecting", "refused")):
        seen.stream_state_changed(each)
    shown = [sample.labels for metric in seen.registry.collect() for sample in metric.samples if "state" in metric.name]
    assert shown == [{"stream": "gate", "state": "reconnecting", "reason": "refused"}]


def test_streams_beyond_the_bound_share_one_name_and_are_counted() -> None:
    seen = Watched(most_streams=2)
    for number in range(100):
        seen.frame_captured(f"s{number}", 0)
        seen.stream_state_changed(status("running", stream=f"s{number}"))
        seen.frame_analysed(result(0, stream=f"s{number}"))
    lines = generate_latest(seen.registry).decode()
    streams = {
        sample.labels["stream"]
        for metric in text_string_to_metric_families(lines)
        for sample in metric.samples
        if "stream" in sample.labels
    }
    assert streams == {"s0", "s1", ""}
    assert seen.value(families.LEFT_OUT) == 98
    assert seen.value(families.CAPTURED, stream="") == 98


def test_a_stream_that_is_dropped_leaves_nothing_behind_and_makes_room() -> None:
    seen = Watched(most_streams=1)
    seen.stream_state_changed(status("running"))
    seen.frame_analysed(result(0, thing(1, "car"), stream="gate"))
    seen.stream_dropped("gate")
    seen.stream_dropped("never seen")
    assert b'"gate"' not in generate_latest(seen.registry)
    seen.frame_captured("yard", 0)
    assert seen.value(families.CAPTURED, stream="yard") == 1


def test_a_hostile_name_stays_a_name() -> None:
    seen = Watched()
    seen.frame_captured(HOSTILE, 0)
    (sample,) = [
        sample
        for metric in text_string_to_metric_families(generate_latest(seen.registry).decode())
        if metric.name == families.CAPTURED.name
        for sample in metric.samples
    ]
    assert (sample.labels, sample.value) == ({"stream": HOSTILE}, 1)


def test_networks_are_told_by_model_and_variant() -> None:
    seen = Watched()
    seen.model_loaded("kind@openvino-int8", 0.5, 4096)
    seen.network_ran("kind@openvino-int8", 3, 0.25)
    seen.network_ran("kind@openvino-int8", 1, 0.25)
    names = {"model": "kind", "variant": "openvino-int8"}
    assert seen.value(families.MODEL_MEMORY, **names) == 4096
    figures = [
        seen.value(family, **names) for family in (families.NETWORK_S, families.NETWORK_ITEMS, families.NETWORK_BATCHES)
    ]
    assert figures == [0.5, 4, 2]
    seen.model_unloaded("kind@openvino-int8")
    assert seen.value(families.MODEL_MEMORY, **names) == 0


def test_a_partition_that_moved_away_is_shown_no_longer() -> None:
    seen = Watched()
    seen.worker_checked({0: 5, 1: 7}, 12.5, None)
    assert (seen.value(families.LAG, partition="1"), seen.value(families.QUEUE_AGE)) == (7, 12.5)
    seen.worker_checked({0: 6}, 0.0, "the broker has not answered for 60 s")
    assert (seen.value(families.LAG, partition="0"), seen.value(families.LAG, partition="1")) == (6, None)
    assert seen.value(families.HEALTHY) == 0


def test_audits_and_trainings_are_counted() -> None:
    seen = Watched()
    seen.audit_done("gate", "kind", "variant", False)
    seen.exits_made("gate", "kind", ("car",), True)
    where = {"stream": "gate", "node": "kind"}
    assert seen.value(families.AUDITS, **where, kind="variant", agrees="no") == 1
    assert seen.value(families.TRAININGS, **where, used="yes") == 1


def test_notifications_are_counted_by_sink_and_outcome() -> None:
    seen = Watched()
    for outcome in ("delivered", "delivered", "expired"):
        seen.notification_ended("hook", outcome)
    assert seen.value(families.NOTIFICATIONS, sink="hook", outcome="delivered") == 2
    assert seen.value(families.NOTIFICATIONS, sink="hook", outcome="expired") == 1


def test_frames_that_never_came_are_counted() -> None:
    seen = Watched()
    seen.frames_missing("gate", 3)
    seen.frames_missing("gate", 4)
    assert seen.value(families.MISSING, stream="gate") == 7


def test_frames_that_are_left_out_are_counted_by_cause() -> None:
    seen, header = Watched(), make_frame(stream="gate").header
    for cause in ("sample", "motion_gate", "sample"):
        seen.frame_left_out(header, cause)
    assert seen.value(families.THINNED, stream="gate", cause="sample") == 2


def test_what_waits_for_a_sink_is_shown_as_it_was_last() -> None:
    seen = Watched()
    seen.sink_checked("hook", 12)
    seen.sink_checked("hook", 3)
    assert seen.value(families.SINK_WAITING, sink="hook") == 3
