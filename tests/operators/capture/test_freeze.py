from __future__ import annotations

import numpy as np

from operators.capture.picture import FREEZE_PICTURES, FreezeWatch, samples

STILL = np.full((36, 64), 90, np.uint8)


def test_frozen_after_the_time_allowed() -> None:
    watch = FreezeWatch(timeout_s=5)
    times_s = (100, 101, 102, 103, 104.9, 105, 107)
    assert [watch.frozen(STILL, now_s) for now_s in times_s] == [*5 * [False], True, True]


def test_a_few_pictures_that_come_seldom_may_be_the_same() -> None:
    watch = FreezeWatch(timeout_s=5)
    assert [watch.frozen(STILL, 60.0 * n) for n in range(FREEZE_PICTURES + 1)] == [False] * 4 + [True] * 2


def test_any_change_starts_the_time_over() -> None:
    watch = FreezeWatch(timeout_s=5)
    changed = STILL.copy()
    changed[3, 4] += 1
    times = [(STILL, 0), *((changed, 4 + n) for n in range(5)), *((STILL, 8.5 + n) for n in range(5))]
    assert not any(watch.frozen(image, now_s) for image, now_s in times)


def test_a_still_scene_with_sensor_noise_is_alive() -> None:
    rng = np.random.default_rng(0)
    watch = FreezeWatch(timeout_s=2)
    for now_s in range(20):
        noisy = np.clip(90 + rng.normal(0, 1.0, (432, 768, 3)), 0, 255).astype(np.uint8)
        assert not watch.frozen(samples(noisy), now_s)
