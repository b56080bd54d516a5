"""What `sluice check` says of exits and audits before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.environment import catalogue
from pipelines.measure.prospects import demanding, exits_used, hopeless
from pipelines.query.query_file import Query


def query(accuracy: float = 0.9, budget: str | int = "5%", **node: Any) -> Query:
    kind = {"name": "kind", "task": "recognise", "input": "detect", "model": "vehicle-type", **node}
    nodes = [{"name": "detect", "task": "detect", "model": "motion"}, kind]
    head = {"version": 1, "name": "q", "slo_ms": 100, "accuracy": accuracy, "learning": {"budget": budget}}
    return Query.model_validate({**head, "nodes": nodes})


@pytest.mark.parametrize("node", [{"specialize": True}, {"model": ["vehicle-type-compact", "vehicle-type"]}])
def test_a_high_target_is_told_with_what_it_takes(node: dict[str, Any]) -> None:
    assert demanding(query(0.97, **node), catalogue([])) == {
        "kind": "at accuracy 0.97 a shortcut answers after 159 audited objects at the earliest; 0.9, the default, "
        "takes 48"
    }


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 1.0])
def test_other_targets_are_not_worth_a_word(accuracy: float) -> None:
    assert demanding(query(accuracy, specialize=True), catalogue([])) == {}


def test_a_node_without_shortcuts_demands_nothing() -> None:
    assert demanding(query(0.97), catalogue([])) == {}


@pytest.mark.parametrize("node", [{"specialize": True}, {"caches": True}])
def test_who_asks_for_exits_that_cannot_be_hears_why(node: dict[str, Any]) -> None:
    assert hopeless(query(**node)) == {}
    assert hopeless(query(1.0, **node))["kind"].startswith("at accuracy 1 exits may not disagree even once")
    assert hopeless(query(budget=0, **node))["kind"].startswith("learning has a budget of 0")


@pytest.mark.parametrize("node", [{}, {"specialize": False}, {"caches": "auto"}])
def test_who_does_not_ask_for_them_hears_nothing(node: dict[str, Any]) -> None:
    assert hopeless(query(1.0, **node)) == hopeless(query(budget=0, **node)) == {}


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({}, None),
        ({"caches": False}, None),
        ({"caches": True, "budget": 0}, None),
        ({"caches": True}, "they are made from looks of all streams and of each stream, or by: sluice learn QUERY"),
        ({"caches": True, "specialize": False}, "they are made from looks of all streams, or by: sluice learn QUERY"),
    ],
)
def test_before_exits_are_learnt_it_is_said_where_they_come_from(
    node: dict[str, Any], said: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    expected = {} if said is None else {"kind": f"no exits are learnt for vehicle-type: {said}"}
    assert exits_used(query(**node), catalogue([])) == expected
