"""Why a frame was analysed as it was, in words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from operators.wire.schema import Attribute, Detection, Model, NodeDecision, NodePlan, Result, StreamPlan, from_json
from pipelines.report.explanation import detail_lines, explain

GOLDEN = Path(__file__).parents[2] / "golden"


def result(name: str) -> Result:
    return from_json((GOLDEN / f"result-{name}.json").read_bytes(), Result)


def audits() -> list[NodePlan]:
    return from_json((GOLDEN / "plan.json").read_bytes(), StreamPlan).nodes


def test_a_late_frame_whose_models_had_no_time() -> None:
    said = explain(result("replanned"))
    assert said[:8] == [
        "frame 154 of stream carpark, at 12.08 s of run 0123456789ab: analysed, 334 ms after capture",
        "  late by 84 ms: the query asks for 250 ms; most of it went to queue (301 ms) and type (17 ms)",
        "detect was to run motion, which may take 12 ms, and took 9.5 ms",
        "type was to run vehicle-type-compact for 7 objects, which may take 4 ms, and took 17.0 ms",
        "  because: no model has time for 9: objects keep the answers that they have, "
        "the fastest looks at the others: 2 of 9 wait",
        "  no model had the time, so the policy 'reuse' decided",
        "  in its place vehicle-type would take up to 61 ms",
        "  not as planned (variant): vehicle-type@openvino-int8: its audit has switched it off",
    ]


def test_a_frame_in_time() -> None:
    assert explain(result("planned"))[1] == "  in time: the query asks for 250 ms"


def test_clocks_that_disagree() -> None:
    assert explain(result("clocks-apart"))[1].startswith("  the clocks of capture and worker disagree")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("queue_full", "its stream's queue was full"),
        ("something new", "something new"),
        (None, "no cause is given"),
    ],
)
def test_a_dropped_frame_says_why(cause: str | None, words: str) -> None:
    dropped = msgspec.structs.replace(result("dropped"), cause=cause)
    assert explain(dropped)[1].startswith(f"  nobody looked at it: {words}; the query asks for ")


@pytest.mark.parametrize(
    ("latency_ms", "known", "words"),
    [
        (249.0, True, "it was sure to miss its deadline (overload: drop_late)"),
        (251.0, True, "it was past its deadline"),
        (251.0, False, "it was past its deadline, or sure to miss it"),
    ],
)
def test_a_frame_that_was_dropped_late_is_told_apart_from_one_that_would_have_been(
    latency_ms: float, known: bool, words: str
) -> None:
    dropped = result("dropped")
    plan = msgspec.structs.replace(dropped.plan, slo_ms=250.0, latency_ms=latency_ms, latency_known=known)
    said = explain(msgspec.structs.replace(dropped, cause="late", plan=plan))[1]
    assert said == f"  nobody looked at it: {words}; the query asks for 250 ms"


def test_a_frame_of_a_recording_is_not_late_and_a_skipped_detector_says_so_and_why() -> None:
    assert explain(result("waiting"))[1:4] == [
        "  its stream waits for the analysis, as recordings do (overload: block), so no frame of it is late",
        "detect did not run yolox-nano, but moved what it had found, and took 9.5 ms",
        "  because the detector, looking ahead, has found the same objects on frames before and after it",
    ]


@pytest.mark.parametrize(
    ("budget_ms", "skipped", "said"),
    [
        (12.4, None, "detect was to run yolox-nano, which may take 12 ms, and took 9.5 ms"),
        (-3544.0, None, "detect was to run yolox-nano, for which no time was left, and took 9.5 ms"),
        (0.0, False, "detect ran yolox-nano, for which no time was left, and took 9.5 ms"),
        (None, False, "detect ran yolox-nano, and took 9.5 ms"),
    ],
)
def test_a_node_says_what_it_ran_and_what_time_it_had(budget_ms: float | None, skipped: bool | None, said: str) -> None:
    shown = result("waiting")
    decision = NodeDecision(variant="yolox-nano", budget_ms=budget_ms, skipped=skipped, why="first listed")
    plan = msgspec.structs.replace(shown.plan, waits=UNSET, nodes={"detect": decision})
    assert said in explain(msgspec.structs.replace(shown, plan=plan))
    assert not any("first listed" in line for line in explain(msgspec.structs.replace(shown, plan=plan)))


def test_a_frame_and_its_stream_say_how_much_a_detector_was_shown_and_why() -> None:
    shown = result("waiting")
    decision = NodeDecision(variant="yolox-nano", skipped=False, detail=832)
    plan = msgspec.structs.replace(shown.plan, nodes={"detect": decision})
    (stands,) = from_json((GOLDEN / "plan-detail.json").read_bytes(), StreamPlan).nodes
    said = explain(msgspec.structs.replace(shown, plan=plan), [stands])
    assert "detect ran yolox-nano on 832 pixels of the longer side, and took 9.5 ms" in said
    assert said[-3:-1] == [
        "  it is shown 832 × 480, which costs 0.44 of the square on every frame; "
        "that is the widest that it takes of such pictures",
        "  what 416 pixels show agrees to 0.62 with 832 in 21 audits",
    ]
    assert stands.detail is not None
    fresh = msgspec.structs.replace(stands.detail, cost=None, compared=None, agreement=None, audits=0)
    (line,) = detail_lines(fresh)
    assert line == "it is shown 832 × 480; that is the widest that it takes of such pictures"


def test_frames_that_a_detector_skips_are_no_shortcut_without_a_name() -> None:
    (propagated,) = from_json((GOLDEN / "plan-rest.json").read_bytes(), StreamPlan).nodes
    said = explain(result("empty"), [propagated])
    assert "detect, frames that yolox-nano skips: off, says the same in 0.993 of 812 audits" in "\n".join(said)
    assert f"  {propagated.reason}" in said
    assert not any("()" in line for line in said)


def test_heads_say_why_they_do_not_answer() -> None:
    plans = [
        each
        for each in from_json((GOLDEN / "plan-specialised.json").read_bytes(), StreamPlan).nodes
        if each.specialization is not None
    ]
    silent = msgspec.structs.replace(plans[0].specialization, reason="heads are not used yet")
    said = explain(result("empty"), [msgspec.structs.replace(plans[0], specialization=silent)])
    assert "  heads are not used yet" in said


def test_a_failed_frame_says_why() -> None:
    failed = result("failed")
    assert explain(failed)[1] == f"  it could not be analysed: {failed.cause}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"provenance": "oracle"}, "type is car (0.90): the oracle, big, looked at it"),
        ({"provenance": "variant"}, "type is car (0.90): big looked at it in the oracle's place"),
        (
            {"provenance": "specialised"},
            "type is car (0.90): an exit of this stream in big answered before the network had ended",
        ),
        (
            {"provenance": "cached"},
            "type is car (0.90): an exit for all streams in big answered before the network had ended",
        ),
        ({"provenance": "reused"}, "type is car (0.90): an earlier answer of big was taken again"),
        (
            {"provenance": "track", "looks": 1},
            "type is car (0.90): pooled from 1 look; nobody had to look at it in this frame",
        ),
        (
            {"provenance": "track", "looks": 3, "looked": "variant"},
            "type is car (0.90): pooled from 3 looks; big looked at it in the oracle's place",
        ),
    ],
)
def test_every_answer_says_whose_it_is(changes: dict[str, object], words: str) -> None:
    said = Attribute(
        name="type",
        label="car",
        confidence=0.9,
        model=Model(name="big", version="1", tier="reference"),
        **changes,  # type: ignore[arg-type]
    )
    shown = result("planned")
    only = msgspec.structs.replace(shown.objects[0], attributes=[said], track_id=None)
    lines = explain(msgspec.structs.replace(shown, objects=[only]))
    assert lines[-2:] == [
        f"object {only.id}: moving {only.detection.confidence:.2f}, found by the detector on this frame",
        f"  {words}",
    ]


def test_a_box_that_was_moved_says_so() -> None:
    shown = result("planned")
    box = shown.objects[0].detection.bounding_box
    moved = Detection(bounding_box=box, confidence=0.5, label="car", provenance="propagated", age_ms=120)
    lines = explain(
        msgspec.structs.replace(
            shown, objects=[msgspec.structs.replace(shown.objects[0], detection=moved, attributes=[])]
        )
    )
    assert lines[-1].endswith(
        "car 0.50; its box was moved by what the pixels did since the detector found it 120 ms before"
    )


def test_a_shortcut_that_does_not_answer_says_why() -> None:
    (audit,) = from_json((GOLDEN / "plan-reason.json").read_bytes(), StreamPlan).nodes
    assert explain(result("empty"), [audit])[-1] == f"  {audit.reason}"


def test_audits_are_told_with_their_interval() -> None:
    (audit, *_) = audits()
    (said,) = (
        explain(result("empty"), [audit])[-1:] if not audit.switch_offs else explain(result("empty"), [audit])[-2:-1]
    )
    found = audit.agreement
    assert said.startswith(
        f"{audit.node}, shortcut {audit.kind} ({', '.join(audit.shortcuts)}) in place of {audit.oracle}: "
    )
    assert f"says the same in {found.found:.3f} of {found.audits} audits" in said
    assert f"({found.sequential.low:.3f}–{found.sequential.high:.3f} at any time), wanted {found.wanted:g}" in said
    unknown = msgspec.structs.replace(audit, agreement=msgspec.structs.replace(found, found=None), switch_offs=[])
    assert explain(result("empty"), [unknown])[-1].endswith(f"{audit.phase}, not audited yet")
