"""Zones and lines in a whole run: results, filters, events and the report agree with what the clip shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from operators.zones.visits import LineReport
from pipelines.environment import catalogue
from pipelines.observe.forward.opening import open_sinks
from pipelines.observe.forward.sinks_file import SinksFile
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.report.run_report import RunReport
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.errors import BadInput
from tests.pipelines.run.test_masks import DETECT, TRACK, write_clip
from tests.real.webhook import hooked

LOW = {"name": "low", "polygon": [[0, 0.6], [1, 0.6], [1, 1], [0, 1]]}
WAIST = {"name": "waist", "points": [[0, 0.6], [1, 0.6]]}


def run(clip: Path, out: Path, *nodes: dict[str, Any]) -> tuple[RunReport, list[dict[str, Any]], list[dict[str, Any]]]:
    """Report, results and events of a run in which one square goes down and one goes up."""
    given = {"version": 1, "name": "test", "slo_ms": 60_000, "nodes": [DETECT, TRACK, *nodes]}
    given |= {"zones": [LOW], "lines": [WAIST], "publish": {"events": {"settle_s": 0.2}}}
    wanted = Query.model_validate({**given, "streams": [{"id": "yard", "uri": str(clip)}]})
    outputs = Outputs(str(out / "results"), events=str(out / "events"))
    report = run_query(compiled(wanted, catalogue([])), outputs)
    results, events = (
        [json.loads(line) for line in (out / name).read_text().splitlines()] for name in ("results", "events")
    )
    return report, results, events


def test_two_squares_cross_each_their_way(tmp_path: Path) -> None:
    report, results, events = run(write_clip(tmp_path / "clip.mp4"), tmp_path)
    crossed = [(each["direction"], each["bounding_box"]["x_min"] < 0.5) for each in events if each["type"] == "cross"]
    assert sorted(crossed) == [("left_to_right", True), ("right_to_left", False)]
    assert report.lines == [LineReport("yard", "waist", {"moving": 1}, {"moving": 1})]
    assert report.zones[0].entered == {"moving": sum(each["type"] == "enter" for each in events)}
    assert {each["type"] for each in events} >= {"new", "enter", "leave", "end", "count"}
    for found in (each for one in results for each in one["objects"]):
        assert found["zones"] == (["low"] if found["detection"]["bounding_box"]["y_max"] >= 0.6 else [])


def test_a_web_server_is_told_of_all_of_it_without_a_broker(tmp_path: Path) -> None:
    given = {"version": 1, "name": "test", "slo_ms": 60_000, "nodes": [DETECT, TRACK], "zones": [LOW]}
    clip = write_clip(tmp_path / "clip.mp4")
    wanted = Query.model_validate({**given, "streams": [{"id": "yard", "uri": str(clip)}]})
    with hooked() as hook:
        sink = {"name": "hook", "to": "webhook", "url": hook.url, "snapshot": {"max_width": 64}}
        told = open_sinks(SinksFile.model_validate({"version": 1, "sinks": [sink]}), tmp_path / "sinks.yaml")
        outputs = Outputs(str(tmp_path / "results"), events=str(tmp_path / "events"), forward=told)
        run_query(compiled(wanted, catalogue([])), outputs)
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    notes = hook.of("yard")
    assert [note["event"] or note["count"] for note in notes if note["kind"] != "state"] == events
    assert [note["state"]["state"] for note in notes if note["kind"] == "state"] == ["starting", "running", "ended"]
    entered = next(note for note in notes if note["kind"] == "enter")
    assert (entered["snapshot"]["width"], entered["snapshot_missing"]) == (64, None)


def test_a_tracker_may_be_given_what_is_in_a_zone_only(tmp_path: Path) -> None:
    low = {"name": "below", "task": "track", "input": "detect[zone == low]"}
    clip = write_clip(tmp_path / "clip.mp4")
    given = {"version": 1, "name": "test", "slo_ms": 60_000, "nodes": [DETECT, low], "zones": [LOW]}
    wanted = Query.model_validate({**given, "streams": [{"id": "yard", "uri": str(clip)}]})
    run_query(compiled(wanted, catalogue([])), Outputs(str(tmp_path / "results")))
    results = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
    tracked = [found for one in results for found in one["objects"] if found["track_id"] is not None]
    assert tracked
    assert all(found["zones"] == ["low"] for found in tracked)


def test_events_that_cannot_be_written_are_one_clear_line(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4")
    (tmp_path / "events").mkdir()
    with pytest.raises(BadInput, match=r"cannot write events to .*: Is a directory; choose another file"):
        run(clip, tmp_path)
