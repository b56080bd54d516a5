"""What ``sluice check`` says of the choice that a query's planner has."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.assembly.choices import Choices, as_json, choices, doubts, lines
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


def test_the_table_and_how_the_slo_is_shared() -> None:
    said = lines(found({"large": LARGE, "small": SMALL, "finder": VariantFigures({1: 0.040}, 1.0)}))
    assert [" ".join(line.split()) for line in said] == [
        "type runs the first of these that has the time:",
        "1 object 4 objects 16 objects agreement",
        "large 10.0 ms 20.0 ms 60.0 ms not measured",
        "small 2.0 ms 4.0 ms 12.0 ms 0.953",
        "of 100 ms the nodes get at first, for one object: detect 80, type 20 ms",
        "most frames a second with one object each (20) in batches: detect 80, type 20 ms",
    ]


def test_a_detector_takes_frames_and_not_objects() -> None:
    finder = {**FINDER, "model": ["finder", "finder@onnxruntime-fp32-size320"]}
    known = {
        "finder": VariantFigures({1: 0.040}, 1.0),
        "finder@onnxruntime-fp32-size320": VariantFigures({1: 0.020}, 0.8),
    }
    detector = found(known, finder, TRACK)
    assert [" ".join(line.split()) for line in lines(detector)][:4] == [
        "detect runs the first of these that has the time:",
        "a frame agreement",
        "finder 40.0 ms 1.000",
        "finder@onnxruntime-fp32-size320 20.0 ms 0.800",
    ]
    assert [each["ms"] for each in as_json(detector)["models"]["detect"]] == [{"1": 40.0}, {"1": 20.0}]


def test_the_same_for_scripts() -> None:
    assert as_json(found({"large": LARGE, "small": SMALL})) == {
        "models": {
            "type": [
                {"model": "large", "agreement": None, "ms": {"1": 10.0, "4": 20.0, "16": 60.0}},
                {"model": "small", "agreement": 0.953, "ms": {"1": 2.0, "4": 4.0, "16": 12.0}},
            ]
        },
        "unmeasured": [],
        "budgets_ms": {"type": 100.0},
    }


def test_models_that_were_not_measured_or_elsewhere_are_named() -> None:
    other = found(
        {"small": SMALL, "large": ModelError("what was measured of large holds no more (cores: was 4, is 2)")}
    )
    assert doubts(other) == ["what was measured of large holds no more (cores: was 4, is 2)"]
    assert lines(other) == ["  not measured here, so timed when the query first runs and not chosen before: large"]


def test_an_slo_that_no_model_meets_is_told_with_node_and_shortage() -> None:
    (said,) = doubts(found({"large": LARGE, "small": SMALL}, slo_ms=1.5))
    assert said == (
        "type: the fastest model, small, takes 2.0 ms for one object, 0.5 ms more than slo_ms leaves it: "
        "give more time or list a faster model"
    )


def test_one_model_a_node_has_no_choice() -> None:
    alone = found({"large": LARGE}, FINDER, TRACK, {**CHOICE, "model": "large"})
    assert (lines(alone), alone.tables.unknown) == ([], [])
