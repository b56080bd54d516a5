"""One object comes out where a detector names one thing twice; two where two things share a place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.detect.decoding import decode
from operators.detect.detections import Detections, one_per_place, overlaps
from serving.catalogue.lookup import Catalogue
from serving.catalogue.public import public_model
from serving.loading.opening import open_model
from serving.preprocess import batch
from tests.models import write_card

CLASSES = ("person", "bicycle", "car", "truck", "motorcycle", "horse", "cat")


def found(*items: tuple[str, float, float]) -> Detections:
    """(class, score, share of a unit square's width) each: boxes whose overlap is the ratio of their widths."""
    boxes = np.array([[0, 0, width, 1] for _, _, width in items], np.float32).reshape(-1, 4)
    scores = np.array([score for _, score, _ in items], np.float32)
    return Detections(boxes, scores, np.array([CLASSES.index(name) for name, _, _ in items], np.intp))


def names(detections: Detections) -> list[str]:
    return [CLASSES[index] for index in detections.classes]


@pytest.mark.parametrize(
    ("first", "second", "overlap", "kept"),
    [
        ("truck", "car", 0.65, 1),
        ("truck", "car", 0.55, 2),
        ("bicycle", "motorcycle", 0.65, 1),
        ("cat", "car", 0.75, 2),
        ("cat", "car", 0.85, 1),
        ("car", "car", 0.75, 2),
        ("car", "car", 0.85, 1),
        ("person", "cat", 0.85, 1),
        ("person", "bicycle", 0.99, 2),
        ("motorcycle", "person", 0.99, 2),
        ("horse", "person", 0.99, 2),
    ],
)
def test_what_is_one_thing(first: str, second: str, overlap: float, kept: int) -> None:
    one = one_per_place(found((first, 0.9, 1.0), (second, 0.5, overlap)), CLASSES)
    assert names(one) == [first, second][:kept]


def test_a_box_that_is_dropped_drops_no_other() -> None:
    chain = found(("car", 0.9, 1.0), ("truck", 0.8, 0.7), ("car", 0.7, 0.45))
    assert names(one_per_place(chain, CLASSES)) == ["car", "car"]


@pytest.mark.parametrize("items", [(), (("car", 0.9, 1.0),)])
def test_nothing_and_one_stay(items: Any) -> None:
    assert len(one_per_place(found(*items), CLASSES)) == len(items)


def test_overlap_is_intersection_in_union() -> None:
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6]], np.float32)
    np.testing.assert_allclose(overlaps(boxes, boxes)[0], [1.0, 1 / 7, 0.0])
    assert overlaps(np.zeros((1, 4)), np.zeros((1, 4))).tolist() == [[0.0]]


edges = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))


@settings(deadline=None)
@given(st.lists(st.tuples(edges, st.integers(0, len(CLASSES) - 1)), max_size=15))
def test_what_is_dropped_was_hidden_by_a_better_one_and_riders_never_are(items: Any) -> None:
    boxes = np.array([[x, y, x + w, y + h] for (x, y, w, h), _ in items], np.float32).reshape(-1, 4)
    scores = np.linspace(1.0, 0.5, len(items), dtype=np.float32)
    every = Detections(boxes, scores, np.array([kind for _, kind in items], np.intp))
    kept = one_per_place(every, CLASSES)
    assert set(kept.scores) <= set(scores)
    for index in np.flatnonzero(~np.isin(scores, kept.scores)):
        better = kept[kept.scores > scores[index]]
        hiding = overlaps(boxes[[index]], better.boxes)[0] > 0.6
        hider = {CLASSES[kind] for kind in better.classes[hiding]}
        assert hider
        if CLASSES[items[index][1]] == "person":
            assert not hider <= {"bicycle", "motorcycle", "horse"}


class Yolox:
    """The real detector."""

    def __init__(self, models: Path, weights: Path) -> None:
        public = public_model("yolox-nano")
        (models / public.name).mkdir()
        shutil.copy(weights, models / public.name / "net.onnx")
        write_card(models / public.name, **public.card, classes=public.class_names())
        entry = Catalogue([models]).find(public.name)
        self.card, self._network = entry.card, open_model(entry, 1)

    def found(self, image: np.ndarray) -> Detections:
        return decode(self.card, self._network.run(batch(self.card.input, [image])[0]))[0]

    def names(self, detections: Detections) -> list[str]:
        return sorted(self.card.classes[index] for index in detections.classes)


@pytest.fixture
def yolox(tmp_path: Path, data_dir: Path) -> Yolox:
    return Yolox(tmp_path, data_dir / "weights" / "yolox_nano.onnx")


def frame_at(clip: Path, index: int) -> np.ndarray:
    capture = cv2.VideoCapture(str(clip))
    for _ in range(index):
        capture.grab()
    _, image = capture.read()
    capture.release()
    return image


@pytest.mark.data
@pytest.mark.parametrize("index", [12, 216])
def test_a_vehicle_that_yolox_names_twice_is_one_object(yolox: Yolox, data_dir: Path, index: int) -> None:
    every = yolox.found(frame_at(data_dir / "videos" / "street-level.mp4", index))
    one = one_per_place(every, yolox.card.classes)
    assert "truck" in yolox.names(every)
    assert len(one) < len(every)
    shares = overlaps(one.boxes, one.boxes)[np.triu_indices(len(one), 1)]
    assert shares.max() < 0.6


@pytest.mark.data
@pytest.mark.parametrize(("photo", "ridden"), [("000000007816", "motorcycle"), ("000000007281", "horse")])
def test_a_rider_is_not_swallowed(yolox: Yolox, data_dir: Path, photo: str, ridden: str) -> None:
    every = yolox.found(cv2.imread(str(data_dir / "images" / "coco128_val" / f"{photo}.jpg")))
    one = one_per_place(every, yolox.card.classes)
    assert {"person", ridden} <= set(yolox.names(one))
    assert yolox.names(one).count("person") == yolox.names(every).count("person")
