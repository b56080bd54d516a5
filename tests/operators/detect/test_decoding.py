from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.detect.decoding import decode
from operators.detect.detections import Detections, suppress
from operators.testing import card_of
from serving.catalogue.cards import ModelCard
from serving.errors import ModelError

CLASSES = ["cat", "dog"]


def yolox_card(**rule: Any) -> ModelCard:
    """32 × 32 input and strides 8, 16, 32: 16 + 4 + 1 cells."""
    return card_of(
        "y", task="detect", classes=CLASSES, input={"width": 32, "height": 32}, decoding={"kind": "yolox", **rule}
    )


def ssd_card(**rule: Any) -> ModelCard:
    return card_of(
        "s", task="detect", classes=CLASSES, input={"width": 100, "height": 50}, decoding={"kind": "ssd", **rule}
    )


def found(detections: Detections) -> list[tuple[str, float, list[float]]]:
    return [
        (CLASSES[index], round(float(score), 3), [round(float(edge), 3) for edge in box])
        for box, score, index in zip(detections.boxes, detections.scores, detections.classes, strict=True)
    ]


def yolox_rows(*cells: tuple[int, list[float]]) -> np.ndarray:
    rows = np.zeros((1, 21, 7), np.float32)
    for index, values in cells:
        rows[0, index] = values
    return rows


def test_yolox_cells_become_boxes_at_their_place_and_stride() -> None:
    fine, middle, coarse = 4 * 2 + 3, 16 + 1, 20
    rows = yolox_rows(
        (fine, [0.5, 0.25, np.log(1), np.log(2), 0.9, 0.1, 1.0]),  # row 2, column 3 of stride 8
        (middle, [0.0, 1.0, np.log(0.5), np.log(1), 0.8, 1.0, 0.2]),  # row 0, column 1 of stride 16
        (coarse, [0.5, 0.5, 0.0, 0.0, 0.7, 1.0, 0.0]),  # the only cell of stride 32
    )
    (item,) = decode(yolox_card(), [rows])
    assert found(item) == [
        ("dog", 0.9, [24.0, 10.0, 32.0, 26.0]),
        ("cat", 0.8, [12.0, 8.0, 20.0, 24.0]),
        ("cat", 0.7, [0.0, 0.0, 32.0, 32.0]),
    ]


def test_yolox_cells_at_the_edge_may_reach_beyond_the_input() -> None:
    """A convolution with a stride rounds up: 40 pixels are two cells of stride 32."""
    rule, size = {"kind": "yolox", "strides": [32]}, {"width": 40, "height": 40}
    card = card_of("y", task="detect", classes=CLASSES, input=size, decoding=rule)
    rows = np.zeros((1, 4, 7), np.float32)
    rows[0, 3] = [0.1, 0.0, np.log(0.25), np.log(0.25), 0.9, 0.0, 1.0]
    assert found(decode(card, [rows])[0]) == [("dog", 0.9, [31.2, 28.0, 39.2, 36.0])]


@pytest.mark.parametrize("stride", [0, -8, 4096])
def test_a_stride_is_a_few_pixels(stride: int) -> None:
    with pytest.raises(ModelError, match=r"decoding.strides\[1\]: .* should be"):
        yolox_card(strides=[8, stride])


def test_yolox_scores_are_objectness_times_class() -> None:
    rows = yolox_rows((0, [0, 0, 0, 0, 0.6, 0.5, 0.0]), (10, [0, 0, 0, 0, 0.9, 0.5, 0.0]))
    (item,) = decode(yolox_card(min_score=0.4), [rows])
    assert [score for _, score, _ in found(item)] == [0.45]


def test_a_callers_threshold_replaces_the_cards() -> None:
    rows = yolox_rows((0, [0, 0, 0, 0, 0.2, 1.0, 0.0]))
    assert len(decode(yolox_card(), [rows])[0]) == 0
    assert len(decode(yolox_card(), [rows], 0.1)[0]) == 1


def test_absurd_sizes_are_dropped() -> None:
    rows = yolox_rows(
        (0, [0, 0, 500, 0, 0.9, 1, 0]), (5, [np.nan, 0, 0, 0, 0.9, 1, 0]), (9, [0, 0, -200, 0, 0.9, 1, 0])
    )
    assert len(decode(yolox_card(), [rows])[0]) == 0


def test_each_item_of_a_batch_is_decoded_for_itself() -> None:
    rows = np.concatenate([yolox_rows(), yolox_rows((0, [0, 0, 0, 0, 0.9, 1, 0]))])
    assert [len(item) for item in decode(yolox_card(), [rows])] == [0, 1]


@pytest.mark.parametrize("shape", [(1, 21, 85), (1, 20, 7), (1, 85)])
def test_yolox_output_that_does_not_fit_the_card_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="its strides and classes mean 21 × 7: check its card"):
        decode(yolox_card(), [np.zeros(shape, np.float32)])


def test_yolox_with_two_outputs_is_refused() -> None:
    with pytest.raises(ModelError, match="has 2 outputs"):
        decode(yolox_card(), [yolox_rows(), yolox_rows()])


BOX = [0.1, 0.2, 0.5, 0.8]
CORNERS = [10.0, 10.0, 50.0, 40.0]


@pytest.mark.parametrize(
    ("rule", "box"),
    [
        ({}, BOX),
        ({"box_order": "yxyx"}, [0.2, 0.1, 0.8, 0.5]),
        ({"box_order": "cxcywh"}, [0.3, 0.5, 0.4, 0.6]),
        ({"normalised": False}, CORNERS),
    ],
)
def test_ssd_boxes_in_every_spelling(rule: dict[str, Any], box: list[float]) -> None:
    (item,) = decode(ssd_card(**rule), [np.array([[box]], np.float32), np.array([[[0.1, 0.9]]], np.float32)])
    assert found(item) == [("dog", 0.9, CORNERS)]


@pytest.mark.parametrize(("background", "scores"), [(0, [0.05, 0.1, 0.85]), (2, [0.1, 0.85, 0.05])])
def test_ssd_background_is_no_class(background: int, scores: list[float]) -> None:
    nothing = np.roll([0.0, 0.0, 0.95], background - 2)
    outputs = [np.array([[BOX, BOX]], np.float32), np.array([[scores, nothing]], np.float32)]
    (item,) = decode(ssd_card(background=background), outputs)
    assert found(item) == [("dog", 0.85, CORNERS)]


def test_ssd_score_columns_must_be_the_cards_classes() -> None:
    with pytest.raises(ModelError, match="scores 3 classes, its card lists 2"):
        decode(ssd_card(), [np.zeros((1, 5, 4), np.float32), np.zeros((1, 5, 3), np.float32)])


def labelled(labels: list[float], scores: list[float], count: float | None = None) -> list[np.ndarray]:
    boxes = np.array([[[0.1 * i, 0.2, 0.1 * i + 0.05, 0.8] for i in range(len(labels))]], np.float32)
    outputs = [boxes, np.array([scores], np.float32), np.array([labels], np.float32)]
    return outputs if count is None else [*outputs, np.array([count], np.float32)]


def test_ssd_labels_count_from_one_where_the_card_says_so() -> None:
    (item,) = decode(ssd_card(first_label=1), labelled([1, 2, 3, 0], [0.9, 0.8, 0.7, 0.6]))
    assert [(label, score) for label, score, _ in found(item)] == [("cat", 0.9), ("dog", 0.8)]


def test_ssd_count_ends_the_list() -> None:
    (item,) = decode(ssd_card(), labelled([0, 1, 0], [0.9, 0.8, 0.7], count=2))
    assert len(item) == 2


def test_ssd_background_may_be_a_label() -> None:
    (item,) = decode(ssd_card(background=0, first_label=1), labelled([0, 2], [0.9, 0.8]))
    assert [label for label, _, _ in found(item)] == ["dog"]


def test_overlaps_that_the_graph_has_suppressed_are_left_alone() -> None:
    twice = [np.array([[BOX, BOX]], np.float32), np.array([[[0.9, 0.0], [0.8, 0.0]]], np.float32)]
    assert len(decode(ssd_card(nms_iou=None), twice)[0]) == 2
    assert len(decode(ssd_card(nms_iou=0.5), twice)[0]) == 1


def test_the_same_place_may_hold_two_classes() -> None:
    outputs = [np.array([[BOX, BOX]], np.float32), np.array([[[0.9, 0.0], [0.0, 0.8]]], np.float32)]
    assert len(decode(ssd_card(), outputs)[0]) == 2


def test_a_classifier_is_no_detector() -> None:
    with pytest.raises(ModelError, match="is not a detector"):
        decode(card_of("c"), [np.zeros((1, 3), np.float32)])


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union, written for reading."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return float(width * height / union)


def brute_force(detections: Detections, threshold: float) -> set[int]:
    """Greedy NMS as the definition has it."""
    kept: list[int] = []
    for index in np.argsort(-detections.scores, kind="stable"):
        rivals = [other for other in kept if detections.classes[other] == detections.classes[index]]
        if all(iou(detections.boxes[other], detections.boxes[index]) <= threshold for other in rivals):
            kept.append(int(index))
    return set(kept)


edges = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))


@settings(deadline=None)
@given(st.lists(st.tuples(edges, st.integers(0, 2)), max_size=25), st.sampled_from([0.137, 0.456, 0.789]), st.randoms())
def test_suppression_is_greedy_per_class(items: list[Any], threshold: float, random: Any) -> None:
    scores = random.sample(range(1, 1000), len(items))  # distinct: ties may be broken either way
    boxes = np.array([[x, y, x + w, y + h] for (x, y, w, h), _ in items], np.float32).reshape(-1, 4)
    detections = Detections(boxes, np.array(scores, np.float32) / 1000, np.array([kind for _, kind in items], np.intp))
    kept = suppress(detections, threshold)
    expected = brute_force(detections, threshold)
    assert sorted(kept.scores.tolist()) == sorted(detections.scores[list(expected)].tolist())


def test_neither_an_absurd_box_nor_one_outside_hides_those_of_other_classes() -> None:
    """One is far larger than any picture; one lies as far to the left and above as another class's does below."""
    boxes = [[0, 0, 50, 50], [100, 100, 150, 150], [200, 200, 250, 250], [-1e20, -1e20, 1e20, 1e20], [-51, -51, -1, -1]]
    scores, classes = np.array([0.9, 0.8, 0.7, 0.6, 0.5], np.float32), np.array([1, 1, 1, 0, 2])
    assert len(suppress(Detections(np.array(boxes, np.float32), scores, classes), 0.5)) == 5
    near = Detections(np.array([boxes[0], boxes[4]], np.float32), scores[[1, 0]], np.array([0, 1]))
    assert len(suppress(near, 0.5)) == 2


WILD = st.sampled_from([0.0, 0.5, 1.0, 700.0, -3e38, 3e38, np.inf, -np.inf, np.nan])
FORMS: dict[str, tuple[dict[str, Any], list[tuple[int, ...]]]] = {
    "yolox": ({"kind": "yolox"}, [(1, 21, 7)]),
    "yolo": ({"kind": "yolo", "objectness": True}, [(1, 7, 5)]),
    "ssd": ({"kind": "ssd"}, [(1, 4, 4), (1, 4, 2)]),
    "logits": ({"kind": "ssd", "activation": "sigmoid", "box_order": "cxcywh"}, [(1, 4, 4), (1, 4, 2)]),
    "labelled": ({"kind": "ssd"}, [(1, 4, 6)]),
    "centerface": ({"kind": "centerface"}, [(1, 1, 8, 8), (1, 2, 8, 8), (1, 2, 8, 8), (1, 10, 8, 8)]),
}


@settings(deadline=None)
@given(st.sampled_from([*FORMS]), st.integers(0, 2**32 - 1), st.lists(WILD, min_size=1, max_size=5))
def test_whatever_a_network_says_is_boxes_or_one_clear_error(form: str, seed: int, values: list[float]) -> None:
    """And no warning, which a test would take for an error."""
    rule, shapes = FORMS[form]
    classes = ["face"] if form == "centerface" else CLASSES
    card = card_of("w", task="detect", classes=classes, input={"width": 32, "height": 32}, decoding=rule)
    rng = np.random.default_rng(seed)
    try:
        (item,) = decode(card, [rng.choice(np.array(values, np.float32), shape) for shape in shapes])
    except ModelError as error:
        if "no number" not in str(error):
            raise
        return
    assert np.isfinite(item.boxes).all()
    assert ((item.classes >= 0) & (item.classes < len(classes))).all()
