"""Pictures of plans: what is collected for them, how much, and that they are drawn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from matplotlib.figure import Figure

from operators.wire.schema import Result, from_json
from pipelines.report.plots.plans import MOST_NODES, MOST_POINTS, PlanHistory, Point, Series, draw
from serving.errors import BadInput

RESULT = from_json((Path(__file__).parents[3] / "golden" / "result-replanned.json").read_bytes(), Result)


def a_result(seq: int, stream: str = "cam", **changes: object) -> Result:
    node = msgspec.structs.replace(RESULT.plan.nodes["type"], **changes)
    plan = msgspec.structs.replace(RESULT.plan, nodes={"detect": RESULT.plan.nodes["detect"], "type": node})
    frame = msgspec.structs.replace(RESULT.frame, media_time_s=float(seq))
    return msgspec.structs.replace(RESULT, stream=stream, seq=seq, plan=plan, frame=frame)


def test_nodes_with_a_choice_are_kept_where_they_had_something_to_do() -> None:
    history = PlanHistory()
    history.write(a_result(1))
    history.write(a_result(2, cause=None, variant="vehicle-type"))
    history.write(a_result(3, objects=0))
    history.write(a_result(4, objects=None))
    assert list(history.nodes) == [("cam", "type")]
    assert history.nodes["cam", "type"].points == [
        Point(1.0, "vehicle-type-compact", 4.5, 17.0, False),
        Point(2.0, "vehicle-type", 4.5, 17.0, True),
    ]


def test_a_frame_that_was_dropped_has_no_point() -> None:
    history = PlanHistory()
    history.write(msgspec.structs.replace(RESULT, plan=msgspec.structs.replace(RESULT.plan, stages_ms={})))
    assert history.nodes == {}


def test_long_runs_are_thinned_out_evenly() -> None:
    series = Series()
    for second in range(50 * MOST_POINTS):
        series.add(Point(float(second), "m", 1.0, 1.0, True))
    times_s = [each.at_s for each in series.points]
    gaps = {later - earlier for earlier, later in pairwise(times_s)}
    assert MOST_POINTS / 2 - 1 <= len(times_s) <= MOST_POINTS
    assert len(gaps) == 1
    assert times_s[-1] > 49 * MOST_POINTS


def test_only_so_many_nodes_are_kept() -> None:
    history = PlanHistory()
    for number in range(MOST_NODES + 5):
        history.write(a_result(0, f"cam{number}"))
    assert len(history.nodes) == MOST_NODES


def test_a_picture_for_each_stream(tmp_path: Path) -> None:
    history = PlanHistory()
    for seq in range(5):
        history.write(a_result(seq))
        history.write(a_result(seq, "yard", cause=None))
    assert history.save_all(tmp_path) == [tmp_path / "cam-plans.png", tmp_path / "yard-plans.png"]
    assert (tmp_path / "cam-plans.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BadInput, match="--plots"):
        history.save_all(tmp_path / "nowhere")


def test_what_is_drawn() -> None:
    figure = Figure()
    draw(figure, {"type": [Point(0.0, "large", 50.0, 40.0, True), Point(1.0, "small", 5.0, 9.0, False)]})
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "budget",
        "large",
        "small",
        "no model had the time",
    ]
