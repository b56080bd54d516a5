from __future__ import annotations

import numpy as np

from operators.capture.picture import MotionGate, thumbnail
from serving.common.tensors import Image


def scene(left: int | None = None, noise_seed: int | None = None) -> Image:
    image = np.full((432, 768, 3), 80, np.uint8)
    if left is not None:
        image[200:260, left : left + 30] = 200
    if noise_seed is not None:
        noise = np.random.default_rng(noise_seed).normal(0, 6, image.shape)
        image = np.clip(image + noise, 0, 255).astype(np.uint8)
    return thumbnail(image)


def test_first_frame_passes_and_a_still_scene_does_not() -> None:
    gate = MotionGate()
    assert gate.passes(scene(noise_seed=0))
    assert not any(gate.passes(scene(noise_seed=seed)) for seed in range(1, 10))


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
