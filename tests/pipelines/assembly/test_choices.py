"""What is doubtful about the choice that a query's planner has."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.assembly.choices import Choices, choices, doubts
from pipelines.query.dag import compile_dag
from serving.errors import ModelError
from serving.variants.timings import VariantFigures
from tests.pipelines.queries import DETECT, TRACK, TYPE, query

LARGE = VariantFigures({1: 0.010, 4: 0.020}, None)
SMALL = VariantFigures({1: 0.002, 4: 0.004}, 0.953)
FINDER = {**DETECT, "model": "finder"}
CHOICE = {**TYPE, "model": ["large", "small"], "input": "track"}


def found(known: Mapping[str, VariantFigures | ModelError], *nodes: dict[str, object], slo_ms: float = 100) -> Choices:
    def measured(model: str) -> VariantFigures | None:
        each = known.get(model)
        if isinstance(each, ModelError):
            raise each
        return each

    return choices(compile_dag(query(*(nodes or (FINDER, TRACK, CHOICE)), slo_ms=slo_ms)), measured)


def test_models_that_were_not_measured_or_elsewhere_are_named() -> None:
    other = found(
        {"small": SMALL, "large": ModelError("what was measured of large holds no more (cores: was 4, is 2)")}
    )
    assert doubts(other) == ["what was measured of large holds no more (cores: was 4, is 2)"]
    assert other.tables.unknown == ["large"]


def test_an_slo_that_no_model_meets_is_told_with_node_and_shortage() -> None:
    (said,) = doubts(found({"large": LARGE, "small": SMALL}, slo_ms=1.5))
    assert said == (
        "type: the fastest model, small, takes 2.0 ms for one object, 0.5 ms more than slo_ms leaves it: "
        "give more time or list a faster model"
    )


def test_one_model_a_node_has_no_choice() -> None:
    alone = found({"large": LARGE}, FINDER, TRACK, {**CHOICE, "model": "large"})
    assert (doubts(alone), alone.tables.unknown) == ([], [])
