"""A nudged crop shows what it showed."""

from __future__ import annotations

import numpy as np

from specialization.kit.features import nudge


def test_a_nudge_cuts_little_and_mirrors_half_the_time() -> None:
    image = np.zeros((100, 100, 3), np.uint8)
    image[:, :50] = 255
    rng = np.random.default_rng(2)
    nudged = [nudge(image, rng) for _ in range(200)]
    assert all(80 <= side <= 100 for each in nudged for side in each.shape[:2])
    assert 60 < sum(bool(each[0, 0, 0] == 255) for each in nudged) < 140
