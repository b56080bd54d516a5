"""How runs are compared, and what the headline says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.whole import ALL, MODES, OFF, headline
from benchmarks.whole_parts.compared import attribute_agreement, object_agreement, truth_f1

LEFT, RIGHT = (0.1, 0.1, 0.3, 0.5), (0.6, 0.2, 0.9, 0.6)


def line(*objects: tuple[Sequence[float], str, float, str | None]) -> Mapping[str, Any]:
    return {
        "objects": [
            {
                "detection": {
                    "bounding_box": dict(zip(("x_min", "y_min", "x_max", "y_max"), box, strict=True)),
                    "label": label,
                    "confidence": confidence,
                },
                "attributes": [] if said is None else [{"label": said}],
            }
            for box, label, confidence, said in objects
        ]
    }


def test_a_run_agrees_with_itself() -> None:
    lines = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "person", 0.4, None)), line()]
    assert object_agreement(lines, lines, 0.5) == 1.0
    assert attribute_agreement(lines, lines) == 1.0


def test_a_missing_object_counts_if_it_was_sure() -> None:
    both = [line((LEFT, "car", 0.9, None), (RIGHT, "person", 0.4, None))]
    without_person, without_car = [line(*[(LEFT, "car", 0.9, None)])], [line((RIGHT, "person", 0.4, None))]
    assert object_agreement(both, without_person, 0.5) == 1.0
    assert object_agreement(both, without_person, 0.0) == 0.5
    assert object_agreement(both, without_car, 0.5) == 0.5


def test_attributes_are_compared_where_both_runs_answer() -> None:
    one = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, "van"))]
    other = [line((LEFT, "car", 0.9, "suv"), (RIGHT, "car", 0.9, "bus"))]
    assert attribute_agreement(one, other) == 0.5
    assert attribute_agreement(one, [line((LEFT, "car", 0.9, None))]) is None


def test_boxes_match_true_ones_once() -> None:
    found = [line((LEFT, "car", 0.9, None), (LEFT, "truck", 0.8, None))]
    assert truth_f1([[LEFT]], found) == pytest.approx(2 / 3)
    assert truth_f1([[LEFT, RIGHT]], found) == 0.5
    assert truth_f1([[]], [line()]) == 1.0


def test_the_headline_is_of_all_savings_together() -> None:
    rows = [
        {"video": "people", "fps": 5.0, "mode": mode, "ratio": ratio, "objects": 0.99, "attributes": ""}
        for mode, ratio in zip(MODES, (0.9, 2.0, 0.8, 1.2, 4.0), strict=True)
    ]
    said = headline(rows)
    assert said["clips"] == {"people, 5.0": {"cpu_ratio": 4.0, "object_agreement": 0.99, "attribute_agreement": ""}}
    assert (said["geomean"], said["nothing_on"]) == (4.0, 0.9)
    assert {ALL, OFF} <= set(MODES)
