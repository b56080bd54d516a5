from __future__ import annotations

from typing import Any

import pytest

from pipelines.environment import catalogue
from pipelines.measure.prospects import demanding
from pipelines.query.query_file import Query


def query(accuracy: float, **node: Any) -> Query:
    kind = {"name": "kind", "task": "recognise", "input": "detect", "model": "vehicle-type", **node}
    nodes = [{"name": "detect", "task": "detect", "model": "motion"}, kind]
    return Query.model_validate({"version": 1, "name": "q", "slo_ms": 100, "accuracy": accuracy, "nodes": nodes})


@pytest.mark.parametrize("node", [{"specialize": True}, {"model": ["vehicle-type-compact", "vehicle-type"]}])
def test_a_high_target_is_told_with_what_it_takes(node: dict[str, Any]) -> None:
    assert demanding(query(0.97, **node), catalogue([])) == {
        "kind": "at accuracy 0.97 a shortcut answers after 159 objects at the earliest, and only if the oracle, asked "
        "again, says the same of 0.985 of them; 0.9, the default, takes 48 and 0.95"
    }


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 1.0])
def test_other_targets_are_not_worth_a_word(accuracy: float) -> None:
    assert demanding(query(accuracy, specialize=True), catalogue([])) == {}


def test_a_node_without_shortcuts_demands_nothing() -> None:
    assert demanding(query(0.97), catalogue([])) == {}
