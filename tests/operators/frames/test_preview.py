"""Smaller pictures for people."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from operators.frames.codec import preview


@pytest.mark.parametrize(
    ("width", "height", "expected"), [(64, 48, (64, 48)), (1280, 720, (640, 360)), (4000, 1, (640, 1))]
)
def test_it_is_no_wider_than_asked_and_keeps_its_shape(width: int, height: int, expected: tuple[int, int]) -> None:
    jpeg, *size = preview(np.zeros((height, width, 3), np.uint8), 640, 80)
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert tuple(size) == expected == (image.shape[1], image.shape[0])


def test_less_quality_takes_fewer_bytes() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (90, 160, 3), np.uint8)
    assert len(preview(noise, 640, 30)[0]) < len(preview(noise, 640, 90)[0])
