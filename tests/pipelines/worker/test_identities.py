"""Nodes of several queries are the same where they ask for the same of the same objects, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.worker.common import identities

DETECT: dict[str, Any] = {"name": "detect", "task": "detect", "model": "boxes"}
TRACK: dict[str, Any] = {"name": "track", "task": "track", "input": "detect"}
TYPE: dict[str, Any] = {"name": "type", "task": "recognise", "input": "track[label == car]", "model": "types"}
GATE = {"name": "gate", "polygon": [[0, 0], [1, 0], [1, 1]]}
BACKENDS = {"gpu": {"url": "grpc://there:8001"}}


def of(*nodes: dict[str, Any], **more: Any) -> dict[str, str]:
    said = {"version": 1, "name": "any", "slo_ms": 100, "nodes": list(nodes)} | more
    return dict(identities(compiled(Query.model_validate(said), catalogue([]))))


PLAIN = of(DETECT, TRACK, TYPE)


@pytest.mark.parametrize(
    "other",
    [
        of(TYPE, DETECT, TRACK),
        of(DETECT, TRACK, TYPE, slo_ms=900, name="other"),
        of(DETECT, TRACK, TYPE, streams=[{"uri": "clip.mp4"}]),
        of(DETECT, TRACK, TYPE, {"name": "colour", "task": "recognise", "input": "track", "model": "colours"}),
        of(DETECT, TRACK, TYPE, zones=[GATE]),
    ],
)
def test_objective_order_streams_other_nodes_and_zones_make_no_difference(other: dict[str, str]) -> None:
    assert {name: other[name] for name in PLAIN} == PLAIN


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (of(DETECT | {"model": "more-boxes"}, TRACK, TYPE), []),
        (of(DETECT | {"min_confidence": 0.9}, TRACK, TYPE), []),
        (of(DETECT, TRACK, TYPE, masks=[{"ignore": [[0, 0], [1, 0], [1, 1]]}]), []),
        (of(DETECT, TRACK | {"lost_after_s": 9}, TYPE), ["detect"]),
        (of(DETECT, TRACK, TYPE | {"input": "track[label == truck]"}), ["detect", "track"]),
        (of(DETECT, TRACK, TYPE, accuracy=0.99), []),
        (of(DETECT, TRACK, TYPE, accuracy=1), []),
        (of(DETECT, TRACK, TYPE, learning={"budget": 0}), []),
        (of(DETECT, TRACK, TYPE, variants=False), []),
        (of(DETECT, TRACK, TYPE | {"input": "detect"}), ["detect", "track"]),
        (of(DETECT | {"name": "found"}, TRACK | {"input": "found"}, TYPE), []),
    ],
)
def test_what_changes_answers_makes_another_node_and_others_behind_it(other: dict[str, str], same: list[str]) -> None:
    assert [name for name in PLAIN if other.get(name) == PLAIN[name]] == same


@pytest.mark.parametrize("other", [{"accuracy": 0.99}, {"learning": {"budget": 0}}])
def test_what_is_asked_of_stand_ins_makes_no_other_node_of_a_detector_that_has_none(other: dict[str, Any]) -> None:
    named = DETECT | {"model": "boxes@onnxruntime-fp32"}, TRACK, TYPE
    one, two = of(*named), of(*named, **other)
    assert [name for name in one if one[name] == two[name]] == ["detect", "track"]


def test_zones_count_where_a_filter_asks_for_them() -> None:
    asks = DETECT, TRACK | {"input": "detect[zone == gate]"}
    one, two = of(*asks, zones=[GATE]), of(*asks, zones=[GATE | {"polygon": [[0, 0], [0.5, 0], [0, 0.5]]}])
    assert one["detect"] == two["detect"]
    assert one["track"] != two["track"]


def test_a_backend_of_the_same_name_at_another_address_is_another() -> None:
    placed = DETECT | {"model": "boxes on gpu"}
    one, again = of(placed, backends=BACKENDS), of(placed, backends=BACKENDS | {"spare": {"url": "grpc://spare:8001"}})
    moved = of(placed, backends={"gpu": {"url": "grpc://elsewhere:8001"}})
    assert one == again
    assert one != moved


def test_nodes_that_draw_on_budgets_are_their_querys_own_and_so_is_what_takes_from_them() -> None:
    budget = {"per_day": "5 Wh"}
    assert of(DETECT | {"budget": budget}, TRACK, TYPE) == {}
    assert of(DETECT, TRACK, TYPE | {"budget": budget}).keys() == {"detect", "track"}
