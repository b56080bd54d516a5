from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from operators.detect.decoding import decode
from operators.testing import card_of
from serving.catalogue.cards import ModelCard
from serving.errors import ModelError

Outputs = list[np.ndarray]


def card(**rule: object) -> ModelCard:
    return card_of(
        "far",
        task="detect",
        classes=["car", "bus"],
        input={"width": 64, "height": 32},
        decoding={"kind": "boxes", "min_score": 0.5, **rule},
    )


def outputs(rows: int = 3, count: int = 2) -> Outputs:
    corners = np.array([[[1, 2, 5, 8], [20, 2, 30, 9], [40, 2, 50, 9]]], np.float32)
    scores, classes = np.array([[0.9, 0.6, 0.8]], np.float32), np.array([[1, 0, 1]], np.int32)
    return [corners[:, :rows], scores[:, :rows], classes[:, :rows], np.array([count], np.int32)]


def test_rows_up_to_the_count_are_boxes() -> None:
    (found,) = decode(card(), outputs())
    assert found.boxes.tolist() == [[1, 2, 5, 8], [20, 2, 30, 9]]
    assert found.scores.tolist() == pytest.approx([0.9, 0.6])
    assert found.classes.tolist() == [1, 0]
    assert found.landmarks is None


def test_landmarks_come_along_and_the_least_score_may_be_another() -> None:
    points = np.arange(30, dtype=np.float32).reshape(1, 3, 5, 2)
    (found,) = decode(card(), [*outputs(), points], min_score=0.7)
    assert found.landmarks is not None
    assert found.landmarks.tolist() == points[0, :1].tolist()


def test_nothing_found_is_nothing() -> None:
    assert len(decode(card(), outputs(rows=0, count=0))[0]) == 0


def changed(place: int, array: np.ndarray) -> Outputs:
    given = outputs()
    given[place] = array
    return given


@pytest.mark.parametrize(
    "given",
    [
        lambda: outputs()[:3],
        lambda: outputs(count=4),
        lambda: outputs(count=-1),
        lambda: changed(3, np.array([np.nan], np.float32)),
        lambda: changed(3, np.array([np.inf], np.float32)),
        lambda: changed(0, np.zeros((1, 3, 5), np.float32)),
        lambda: changed(1, np.zeros((1, 2), np.float32)),
        lambda: changed(3, np.zeros((1, 1), np.int32)),
        lambda: [*outputs(), np.zeros((1, 3, 4, 2), np.float32)],
    ],
)
def test_what_is_no_list_of_boxes_is_refused(given: Callable[[], Outputs]) -> None:
    with pytest.raises(ModelError, match="this decoding takes boxes K × 4"):
        decode(card(), given())


@pytest.mark.parametrize("label", [-1, 2])
def test_a_class_that_the_card_has_not_is_refused(label: int) -> None:
    with pytest.raises(ModelError, match="a class that is none of its card's 2"):
        decode(card(), changed(2, np.full((1, 3), label, np.int32)))
