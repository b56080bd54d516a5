"""How answers are counted, and where a face is in the views of its picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks.galleries import MISSED, Known, headline, rows_of
from benchmarks.galleries_parts.faces import Face, View, nearest, views
from operators.frames.frame import Box
from operators.testing import make_region


def test_an_answer_is_right_wrong_or_unknown() -> None:
    known = [Known(0.8, 0.3), Known(0.45, 0.42), Known(0.5, 0.7), Known(0.3, 0.2), MISSED]
    at_4, at_5, at_6 = rows_of(("centerface", "aligned", "cut", "darker"), known)
    assert [at_4[key] for key in ("right", "wrong_name", "unknown", "stranger_named")] == [0.4, 0.2, 0.4, 0.4]
    assert [at_5[key] for key in ("right", "wrong_name", "unknown", "stranger_named")] == [0.2, 0.2, 0.6, 0.2]
    assert (at_6["min_similarity"], at_6["faces"], at_6["missed_by_detector"]) == (0.6, 5, 1)


def test_the_headline_is_the_mean_over_views_at_the_default_similarity() -> None:
    ways = (("ultraface", "cropped"), ("centerface", "cropped"), ("centerface", "aligned"))
    sure, unsure = [Known(0.8, 0.1)], [Known(0.1, 0.8)]
    rows = [
        row
        for detector, crop in ways
        for view, known in (("darker", sure), ("mirrored", unsure))
        for row in rows_of((detector, crop, "cut", view), known)
    ]
    assert headline(rows)["centerface_aligned"] == {"right": 0.5, "wrong_name": 0.5, "stranger_named": 0.5}
    assert len(headline(rows)) == 3


def test_the_nearest_face_must_overlap_enough() -> None:
    there, beside = make_region(0.1, 0.1), make_region(0.25, 0.1)
    assert nearest(Box(0.12, 0.1, 0.32, 0.3), [beside, there]) is there
    assert nearest(Box(0.7, 0.7, 0.9, 0.9), [beside, there]) is None
    assert nearest(Box(0.7, 0.7, 0.9, 0.9), []) is None


@pytest.mark.parametrize("kind", range(5))
def test_the_face_is_where_a_view_says(tmp_path: Path, kind: int) -> None:
    image = np.full((200, 300, 3), 40, np.uint8)
    cv2.circle(image, (90, 70), 30, (250, 250, 250), -1)
    path = tmp_path / "1.png"
    cv2.imwrite(str(path), image)
    face = Face("x", path, Box(0.2, 0.2, 0.4, 0.5))
    _, view = list(views(face))[kind]
    assert isinstance(view, View)
    rows, columns = np.nonzero(view.frame.image[..., 0] > 100)
    height, width = view.frame.image.shape[:2]
    found = (columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height)
    assert found == pytest.approx((view.box.x_min, view.box.y_min, view.box.x_max, view.box.y_max), abs=0.02)
    assert face.photo(0.0).shape == (60, 60, 3)
