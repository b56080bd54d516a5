from __future__ import annotations

import numpy as np
import pytest

from operators.capture.picture import MotionGate
from operators.frames.changes import thumbnail
from serving.common.tensors import Image


def scene(left: int | None = None, noise_seed: int | None = None, sigma: float = 6, light: int = 0) -> Image:
    image = np.full((432, 768, 3), 80 + light, np.uint8)
    if left is not None:
        image[200:260, left : left + 30] = 200
    if noise_seed is not None:
        noise = np.random.default_rng(noise_seed).normal(0, sigma, (432, 768, 1))
        image = np.clip(image + noise, 0, 255).astype(np.uint8)
    return thumbnail(image)


def test_first_frame_passes_and_a_still_scene_does_not() -> None:
    gate = MotionGate()
    assert gate.passes(scene(noise_seed=0))
    assert not any(gate.passes(scene(noise_seed=seed)) for seed in range(1, 10))


@pytest.mark.parametrize("sigma", [20, 35])
def test_the_grain_of_a_night_does_not_pass_and_what_moves_in_it_does(sigma: float) -> None:
    gate = MotionGate()
    gate.passes(scene(noise_seed=0, sigma=sigma))
    assert not any(gate.passes(scene(noise_seed=seed, sigma=sigma)) for seed in range(1, 10))
    assert gate.passes(scene(100, noise_seed=10, sigma=sigma))


def test_light_that_changes_everywhere_is_no_movement() -> None:
    gate = MotionGate()
    assert [gate.passes(scene(light=light)) for light in (0, 25, 60)] == [True, False, False]


def test_something_that_appears_moves_or_leaves_passes() -> None:
    gate = MotionGate()
    assert [gate.passes(scene(left)) for left in (None, 100, 100, 180, None)] == [True, True, False, True, True]


def test_slow_movement_adds_up() -> None:
    gate = MotionGate()
    gate.passes(scene(100))
    assert any(gate.passes(scene(100 + step)) for step in range(1, 8))


def test_a_changed_picture_size_passes() -> None:
    gate = MotionGate()
    gate.passes(scene())
    assert gate.passes(scene()[:60])
