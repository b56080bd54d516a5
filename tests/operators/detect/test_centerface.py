from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators.detect.decoding import decode
from operators.testing import card_of
from serving.catalogue.cards import ModelCard
from serving.errors import ModelError

ROWS, COLUMNS = 8, 12


def card(**rule: Any) -> ModelCard:
    size = {"width": 4 * COLUMNS, "height": 4 * ROWS}
    return card_of("f", task="detect", classes=["face"], input=size, decoding={"kind": "centerface", **rule})


def nothing(items: int = 1) -> list[np.ndarray]:
    return [np.zeros((items, channels, ROWS, COLUMNS), np.float32) for channels in (1, 2, 2, 10)]


def put(outputs: list[np.ndarray], row: int, column: int, score: float, **values: Any) -> None:
    heat, sizes, offsets, landmarks = (output[0] for output in outputs)
    heat[0, row, column] = score
    sizes[:, row, column] = np.log(np.array(values.get("size", (8.0, 8.0))) / 4)
    offsets[:, row, column] = values.get("offset", (0.0, 0.0))
    landmarks[:, row, column] = values.get("landmarks", [0.5] * 10)


def test_a_peak_becomes_a_box_and_five_points() -> None:
    outputs = nothing()
    points = [0.25, 0.3, 0.25, 0.7, 0.5, 0.5, 0.75, 0.35, 0.75, 0.65]  # down, across
    put(outputs, 3, 5, 0.9, size=(20, 10), offset=(0.25, -0.25), landmarks=points)
    (found,) = decode(card(), outputs)
    # The centre is (3 + ½ + ¼) · 4 = 15 down and (5 + ½ − ¼) · 4 = 21 across.
    assert found.boxes.tolist() == pytest.approx(np.array([[16, 5, 26, 25]]))
    assert found.scores.tolist() == pytest.approx([0.9])
    assert found.landmarks is not None
    assert found.landmarks[0] == pytest.approx(np.array([[19, 10], [23, 10], [21, 15], [19.5, 20], [22.5, 20]]))


def test_faces_come_with_their_own_points_and_once_each() -> None:
    outputs = nothing()
    put(outputs, 2, 3, 0.6, size=(12, 12), landmarks=[0.1] * 10)
    put(outputs, 2, 4, 0.8, size=(12, 12), landmarks=[0.2] * 10)  # the same face
    put(outputs, 6, 9, 0.95, size=(8, 8), landmarks=[0.9] * 10)
    put(outputs, 0, 0, 0.3)
    (found,) = decode(card(), outputs)
    assert found.scores.tolist() == pytest.approx([0.95, 0.8])
    assert found.landmarks is not None
    lefts = found.boxes[:, 0]
    assert ((found.landmarks[:, 0, 0] - lefts) / (found.boxes[:, 2] - lefts)).tolist() == pytest.approx([0.9, 0.2])
    assert len(decode(card(min_score=0.2), outputs)[0]) == 3
    assert len(decode(card(), outputs, 0.9)[0]) == 1


def test_each_item_of_a_batch_is_decoded_for_itself() -> None:
    outputs = nothing(2)
    put(outputs, 1, 1, 0.9)
    assert [len(found) for found in decode(card(), outputs)] == [1, 0]


@pytest.mark.parametrize("size", [(np.exp(300), 8.0), (np.nan, 8.0), (0.0, 8.0)])
def test_absurd_sizes_are_dropped(size: tuple[float, float]) -> None:
    outputs = nothing()
    with np.errstate(divide="ignore"):
        put(outputs, 3, 5, 0.9, size=size)
    put(outputs, 6, 9, 0.8)
    assert len(decode(card(), outputs)[0]) == 1


def test_a_face_with_absurd_points_is_a_face() -> None:
    outputs = nothing()
    put(outputs, 3, 5, 0.9, landmarks=[np.nan, np.inf, -np.inf, 1e38, 0, 0, 0, 0, 0, 0])
    (found,) = decode(card(), outputs)
    assert len(found) == 1


@pytest.mark.parametrize(
    "outputs",
    [
        nothing()[:3],
        [nothing()[place] for place in (0, 1, 3, 2)],
        [output[..., :-1] for output in nothing()],
        [output[:, 0] for output in nothing()],
    ],
)
def test_outputs_of_another_network_are_one_line(outputs: list[np.ndarray]) -> None:
    with pytest.raises(ModelError, match=r"takes 1 × 8 × 12, 2 × 8 × 12, 2 × 8 × 12, 10 × 8 × 12") as caught:
        decode(card(), outputs)
    assert "\n" not in str(caught.value)
