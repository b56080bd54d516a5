"""The same objects, as exports of different detectors write them, are decoded alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.detect.decoding import decode
from operators.detect.detections import Detections
from operators.testing import card_of
from serving.catalogue.cards import ModelCard
from serving.errors import ModelError

CLASSES = ["cat", "dog", "bird"]
WIDTH, HEIGHT = 100, 50
Things = Sequence[tuple[tuple[int, int], int, int]]
"""Each: column and row of the corner, the class, the score in hundredths."""


def card(kind: str, **rule: Any) -> ModelCard:
    decoding = {"kind": kind, "min_score": 0.305, **rule}
    size = {"width": WIDTH, "height": HEIGHT}
    return card_of("d", task="detect", classes=CLASSES, input=size, decoding=decoding)


def corners(things: Things) -> np.ndarray:
    """K × 4 pixels: boxes of 8 × 4 that do not overlap."""
    places = np.array([place for place, _, _ in things], np.float32).reshape(-1, 2) * [10, 5]
    return np.hstack([places, places + np.array([8, 4])]).astype(np.float32)


def centred(things: Things) -> np.ndarray:
    boxes = corners(things)
    return np.hstack([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]])


def scored(things: Things) -> np.ndarray:
    """K × classes; what is not said is 0."""
    scores = np.zeros((len(things), len(CLASSES)), np.float32)
    for row, (_, label, hundredths) in enumerate(things):
        scores[row, label] = hundredths / 100
    return scores


def logits(shares: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(shares, 1e-9) / np.maximum(1 - shares, 1e-9)).astype(np.float32)


def labels(things: Things) -> np.ndarray:
    return np.array([label for _, label, _ in things], np.int64)


def best(things: Things) -> np.ndarray:
    return np.array([hundredths / 100 for _, _, hundredths in things], np.float32)


def with_objectness(things: Things) -> np.ndarray:
    return np.hstack([centred(things), np.full((len(things), 1), 0.5), 2 * np.minimum(scored(things), 0.5)])


def with_nothing(things: Things) -> np.ndarray:
    """Logits of the classes, then of "nothing", which takes what the classes leave."""
    scores = scored(things)
    shares = np.hstack([scores, 1 - scores.sum(axis=1, keepdims=True)])
    return np.log(np.maximum(shares, 1e-9)).astype(np.float32)


SHARES = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT], np.float32)
SPELLINGS: dict[str, tuple[ModelCard, Callable[[Things], list[np.ndarray]]]] = {
    "yolo": (card("yolo"), lambda things: [np.hstack([centred(things), scored(things)])]),
    "yolo, columns": (card("yolo"), lambda things: [np.hstack([centred(things), scored(things)]).T]),
    "logits": (
        card("ssd", activation="sigmoid", box_order="cxcywh", nms_iou=None),
        lambda things: [centred(things) / SHARES, logits(scored(things))],
    ),
    "logits with nothing": (
        card("ssd", activation="softmax", background=3, normalised=False),
        lambda things: [corners(things), with_nothing(things)],
    ),
    "score in the box": (
        card("ssd", normalised=False),
        lambda things: [np.hstack([corners(things), best(things)[:, None]]), labels(things)],
    ),
    "score and label in the box": (
        card("ssd", normalised=False),
        lambda things: [np.hstack([corners(things), best(things)[:, None], labels(things)[:, None]])],
    ),
}
PLAIN = card("ssd", normalised=False)


def found(detections: Detections) -> list[tuple[str, float, list[float]]]:
    rows = zip(detections.boxes, detections.scores, detections.classes, strict=True)
    return sorted((CLASSES[label], round(float(s), 4), box.round(3).tolist()) for box, s, label in rows)


places = st.tuples(st.integers(0, 9), st.integers(0, 9))
thing = st.tuples(places, st.integers(0, 2), st.integers(1, 99))
things = st.lists(thing, min_size=8, max_size=20, unique_by=lambda each: each[0])


@pytest.mark.parametrize("spelling", SPELLINGS)
@settings(deadline=None, max_examples=30)
@given(things)
def test_every_spelling_says_the_same(spelling: str, given: Things) -> None:
    (expected,) = decode(PLAIN, [corners(given)[None], scored(given)[None]])
    known, encode = SPELLINGS[spelling]
    (item,) = decode(known, [np.asarray(part, np.float32)[None] for part in encode(given)])
    assert found(item) == found(expected)


def test_objectness_times_class_is_the_score() -> None:
    given = [((1, 1), 1, 45), ((3, 3), 2, 20)]
    (item,) = decode(card("yolo", objectness=True), [with_objectness(given)[None].astype(np.float32)])
    assert [(label, score) for label, score, _ in found(item)] == [("dog", 0.45)]


def test_objects_found_twice_come_out_once() -> None:
    rows = np.hstack([centred([((1, 1), 0, 90)] * 2), scored([((1, 1), 0, 90), ((1, 1), 0, 80)])])
    assert len(decode(card("yolo"), [rows[None].astype(np.float32)])[0]) == 1


def test_numbers_that_are_none_are_passed_over() -> None:
    rows = np.hstack([centred([((1, 1), 0, 90)] * 3), scored([((1, 1), 0, 90)] * 3)])
    rows[0, 0], rows[1, 1], rows[2, 3] = np.nan, np.nan, -5.0
    assert len(decode(card("yolo"), [rows[None].astype(np.float32)])[0]) == 0
    with pytest.raises(ModelError, match="says what is no number"):
        decode(card("yolo"), [rows[None, :2].astype(np.float32)])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_network_of_which_nothing_is_a_number_finds_nothing_and_says_so(spelling: str) -> None:
    known, encode = SPELLINGS[spelling]
    parts = [np.asarray(part, np.float32)[None] for part in encode([((1, 1), 1, 80), ((3, 3), 2, 70)])]
    with pytest.raises(ModelError, match="says what is no number"):
        decode(known, [np.full_like(part, np.nan) for part in parts])


@pytest.mark.parametrize(
    ("kind", "shapes", "message"),
    [
        ("yolo", [(1, 9, 9)], "says 9 × 9; its classes mean rows of 7 values"),
        ("yolo", [(1, 9)], "says 9; its classes mean"),
        ("yolo", [(1, 9, 7), (1, 9)], "says 9 × 7, 9; its classes"),
        ("ssd", [(1, 9, 3), (1, 9, 4)], "says 9 × 3, 9 × 4; this decoding takes boxes"),
        ("ssd", [(1, 9, 4)], "says 9 × 4; this decoding"),
        ("ssd", [(1, 9), (1, 9, 4)], "says 9, 9 × 4; this decoding"),
        ("ssd", [(1, 9, 4), (1, 9)], "scores boxes, not classes"),
    ],
)
def test_what_does_not_fit_the_card_is_refused(kind: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        decode(card(kind), [np.zeros(shape, np.float32) for shape in shapes])
