from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames.crops import TEMPLATES, aligned, similarity
from operators.frames.frame import Landmarks
from serving.common.tensors import Image

PLACES = TEMPLATES["arcface"] * 112
COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255, 0, 255))
"""Colours of the five points of a drawn face."""


def turned(points: np.ndarray, degrees: float, scale: float, shift: tuple[float, float]) -> np.ndarray:
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return scale * points @ turn.T + shift


def error(transform: np.ndarray, points: np.ndarray, places: np.ndarray) -> float:
    return float(((points @ transform[:, :2].T + transform[:, 2] - places) ** 2).sum())


@given(
    st.floats(-180, 180),
    st.floats(0.2, 8.0),
    st.tuples(st.floats(-500, 2000), st.floats(-500, 2000)),
)
def test_points_that_were_turned_scaled_and_shifted_come_back_exactly(
    degrees: float, scale: float, shift: tuple[float, float]
) -> None:
    points = turned(PLACES, degrees, scale, shift)
    transform = similarity(points, PLACES)
    assert transform is not None
    assert error(transform, points, PLACES) < 1e-12 * (1 + max(map(abs, shift))) ** 2


def test_umeyamas_own_example() -> None:
    """Umeyama, 1991, section III: a triangle and one that nearly mirrors it; scale .721, turn −33.7°."""
    points, places = np.array([[0, 0], [1, 0], [0, 2]]) * 10.0, np.array([[0, 0], [-1, 0], [0, 2]]) * 10.0
    transform = similarity(points, places)
    assert transform is not None
    rotation = np.array([[0.832, 0.555], [-0.555, 0.832]])
    np.testing.assert_allclose(transform[:, :2], 0.721 * rotation, atol=1e-3)
    np.testing.assert_allclose(transform[:, 2] / 10, [-0.8, 0.4], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_rotation_scale_and_shift_comes_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = turned(PLACES, rng.uniform(-60, 60), 2.0, (30, 40)) + rng.normal(scale=9, size=(5, 2))
    best = similarity(points, PLACES)
    assert best is not None
    centred = points - points.mean(axis=0)
    angle, scale = math.atan2(best[1, 0], best[0, 0]), math.hypot(best[0, 0], best[1, 0])
    least = error(best, points, PLACES)
    for turn in np.linspace(-math.pi, math.pi, 181):
        for stretch in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0):
            other = (
                scale
                * stretch
                * np.array(
                    [
                        [math.cos(angle + turn), -math.sin(angle + turn)],
                        [math.sin(angle + turn), math.cos(angle + turn)],
                    ]
                )
            )
            assert (((centred @ other.T) + PLACES.mean(axis=0) - PLACES) ** 2).sum() >= least - 1e-6


def drawn(degrees: float, scale: float, shift: tuple[float, float]) -> tuple[Image, Landmarks]:
    """A picture of a face that is five dots, and where they are."""
    image = np.full((900, 1200, 3), 60, np.uint8)
    points = turned(PLACES, degrees, scale, shift)
    for (x, y), colour in zip(points, COLOURS, strict=True):
        cv2.circle(image, (round(x), round(y)), max(2, round(3 * scale)), colour, -1)
    return image, tuple((x / 1200, y / 900) for x, y in points.tolist())


@pytest.mark.parametrize(
    ("degrees", "scale", "shift"),
    [(0, 1.0, (100, 100)), (35, 2.0, (500, 200)), (-90, 4.5, (250, 700)), (12, 7.0, (300, 5)), (180, 0.6, (400, 400))],
)
def test_a_face_is_laid_upright_whatever_its_size_and_turn(
    degrees: float, scale: float, shift: tuple[float, float]
) -> None:
    image, landmarks = drawn(degrees, scale, shift)
    upright = aligned(image, landmarks, "arcface", 112, 112)
    assert upright is not None
    assert upright.shape == (112, 112, 3)
    for (x, y), colour in zip(PLACES, COLOURS, strict=True):
        assert np.abs(upright[round(y), round(x)].astype(int) - colour).max() < 60


def test_a_large_face_is_averaged_and_not_sampled() -> None:
    image, landmarks = drawn(20, 6.0, (300, 5))
    noisy = np.where(np.random.default_rng(1).random(image.shape[:2])[..., None] < 0.5, 0, 255).astype(np.uint8)
    upright = aligned(np.repeat(noisy, 3, axis=2), landmarks, "arcface", 112, 112)
    assert upright is not None
    assert upright[40:80, 40:80].std() < 80  # 128 where pixels are picked out


def test_other_inputs_have_the_same_face() -> None:
    image, landmarks = drawn(10, 2.0, (300, 300))
    small = aligned(image, landmarks, "arcface", 56, 56)
    assert small is not None
    assert small.shape == (56, 56, 3)
    x, y = PLACES[2] / 2
    assert np.abs(small[round(y), round(x)].astype(int) - COLOURS[2]).max() < 60


HERE: Landmarks = ((0.4, 0.4), (0.6, 0.4), (0.5, 0.5), (0.4, 0.6), (0.6, 0.6))


@pytest.mark.parametrize(
    "landmarks",
    [
        ((math.nan, 0.4), *HERE[1:]),
        ((math.inf, 0.4), *HERE[1:]),
        ((-math.inf, 0.4), *HERE[1:]),
        ((1e300, 0.4), *HERE[1:]),
        ((0.5, 0.5),) * 5,
        tuple((0.5 + 1e-9 * index, 0.5) for index in range(5)),
        ((-0.01, 0.4), *HERE[1:]),
        (*HERE[:4], (0.6, 1.01)),
    ],
)
def test_points_of_no_face_in_the_picture_align_nothing(landmarks: Landmarks) -> None:
    image = np.zeros((100, 100, 3), np.uint8)
    assert aligned(image, HERE, "arcface", 112, 112) is not None
    assert aligned(image, landmarks, "arcface", 112, 112) is None


def test_a_tiny_picture_and_a_face_that_fills_it() -> None:
    corners: Landmarks = ((0.0, 0.0), (1.0, 0.0), (0.5, 0.5), (0.0, 1.0), (1.0, 1.0))
    assert aligned(np.zeros((1, 1, 3), np.uint8), corners, "arcface", 112, 112) is None
    for shape in ((3, 2, 3), (2000, 3, 3), (3000, 3000, 3)):
        assert aligned(np.zeros(shape, np.uint8), corners, "arcface", 112, 112) is not None
