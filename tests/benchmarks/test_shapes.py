"""How far two ways find the same, how much of it is true, and the headline."""

from __future__ import annotations

import math

import pytest

from benchmarks.shapes import headline
from benchmarks.shapes_parts.same import firm, mean_precision, merged, recall
from operators.frames.frame import Box, Region


def seen(left: float, confidence: float, label: str = "car", side: float = 0.1) -> Region:
    return Region(id=0, node="d", box=Box(left, 0.0, left + side, side), label=label, confidence=confidence)


def test_firm_boxes_must_be_found_at_all_by_the_other() -> None:
    one = [[seen(0.0, 0.6), seen(0.5, 0.35)]]
    assert firm(one, [[seen(0.01, 0.31)]]) == 1.0
    assert firm(one, [[seen(0.01, 0.29)]]) == 0.0
    assert firm(one, [[seen(0.01, 0.6, "bus")]]) == 0.0
    assert firm(one, [[seen(0.0, 0.6), seen(0.8, 0.5)]]) == pytest.approx(2 / 3)
    assert firm([[]], [[]]) == 1.0


def test_recall_counts_small_objects_of_which_either_was_sure() -> None:
    wanted = merged(
        [[seen(0.0, 0.9, side=0.05)]], [[seen(0.0, 0.6, side=0.05), seen(0.5, 0.8, side=0.2), seen(0.8, 0.2)]], 0.5
    )
    assert [len(regions) for regions in wanted] == [2]
    assert recall([[seen(0.0, 0.3, side=0.05)]], wanted) == 1.0
    assert recall([[seen(0.5, 0.3, side=0.2)]], wanted) == 0.0
    assert math.isnan(recall([[]], [[]]))


def test_precision_is_cocos() -> None:
    truth = [{"car": [(0.0, 0.0, 0.1, 0.1), (0.5, 0.0, 0.6, 0.1)]}]
    assert mean_precision([[seen(0.0, 0.9), seen(0.5, 0.8)]], truth) == (100.0, 100.0)
    half = mean_precision([[seen(0.0, 0.9), seen(0.8, 0.8)]], truth)[1]
    assert half == pytest.approx(100 * 51 / 101)
    assert mean_precision([[]], truth) == (0.0, 0.0)
    assert mean_precision([[seen(0.0, 0.9), seen(0.0, 0.8), seen(0.5, 0.7)]], truth)[1] == pytest.approx(83.5, abs=0.3)


def test_the_headline_names_16_9_and_the_photos() -> None:
    def row(clip: str, way: str, **figures: object) -> dict[str, object]:
        return {
            "clip": clip,
            "way": way,
            "ratio": 1.0,
            "ratio_before": 1.0,
            "boxes": 3,
            "firm": 1.0,
            "small_recall": 0.5,
            "map": "",
            **figures,
        }

    rows = [row("people", "square", small_recall=0.2), row("people", "both", ratio=1.8, firm=0.99)]
    rows += [row("people", "both, 544", small_recall=0.4), row("photos", "square", map=34.0, ratio="")]
    rows += [row("photos", "both", map=33.9, ratio="")]
    said = headline(rows)
    assert said["ratio"] == {"people": 1.8}
    assert (said["firm"], said["firm_least"]) == (0.99, 0.99)
    assert said["map_lost"] == 0.1
    assert said["small_recall"] == {"people": [0.2, 0.4]}
