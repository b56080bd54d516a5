from __future__ import annotations

import numpy as np
import pytest

from operators.detect.agreement import same_objects, shared
from operators.detect.detections import Detections
from serving.catalogue.cards import parse_card


def found(*boxes: tuple[float, float, float, float, float, int]) -> Detections:
    """(left, top, right, bottom, score, class) each."""
    table = np.array(boxes, np.float32).reshape(-1, 6)
    return Detections(table[:, :4], table[:, 4], table[:, 5].astype(np.intp))


CAR, NEAR, FAR = (0, 0, 10, 10, 0.9, 0), (1, 0, 11, 10, 0.8, 0), (50, 50, 60, 60, 0.7, 0)


@pytest.mark.parametrize(
    ("wanted", "got", "share"),
    [
        (found(), found(), float("nan")),
        (found(CAR), found(), 0.0),
        (found(), found(CAR), 0.0),
        (found(CAR), found(NEAR), 1.0),
        (found(CAR), found(FAR), 0.0),
        (found(CAR), found((0, 0, 10, 10, 0.9, 1)), 0.0),
        (found(CAR, FAR), found(NEAR), 1 / 2),
        (found(CAR), found(CAR, NEAR), 1 / 2),
        (found(CAR, FAR), found(FAR, CAR), 1.0),
        (found(CAR), found((0, 0, 10, 4.9, 0.9, 0)), 0.0),
    ],
)
def test_the_share_of_objects_that_both_find(wanted: Detections, got: Detections, share: float) -> None:
    assert shared(wanted, got) == pytest.approx(share, nan_ok=True)
    assert shared(got, wanted) == pytest.approx(share, nan_ok=True)


def test_outputs_are_decoded_as_the_card_says() -> None:
    raw = {
        "name": "d", "version": "1", "task": "detect", "file": "d.onnx", "sha256": "0" * 64, "licence": "x",
        "source": "x", "input": {"width": 100, "height": 100}, "classes": ["a", "b"],
        "decoding": {"kind": "ssd", "min_score": 0.5},
    }  # fmt: skip
    agree = same_objects(parse_card(raw, "card"))
    boxes = np.array([[[0.1, 0.1, 0.5, 0.5], [0.6, 0.6, 0.9, 0.9]]] * 2, np.float32)
    scores = np.array([[[0.9, 0.0], [0.0, 0.8]]] * 2, np.float32)
    weaker = scores * np.array([1.0, 0.5], np.float32)[:, None, None]
    assert agree([boxes, scores], [boxes, weaker]).tolist() == [1.0, 0.0]
