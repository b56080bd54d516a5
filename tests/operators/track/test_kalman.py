"""The filter: it learns a speed, knows what it does not know, and measures time and not frames."""

import numpy as np
import pytest

from operators.testing import make_region
from operators.track.kalman import LEAST_SIZE, begin, corners_of, correct, predict, shapes_of


def shape_at(x, w=0.1, h=0.2):
    return shapes_of(corners_of([make_region(x=x, y=0.3, w=w, h=h)]))


def follow(speed, fps, seconds=2.0):
    motion = begin(shape_at(0.1))
    for i in range(1, round(seconds * fps) + 1):
        motion = correct(predict(motion, 1 / fps), shape_at(0.1 + speed * i / fps))
    return motion


@pytest.mark.parametrize("fps", [5, 12, 25, 60])
def test_the_speed_is_learnt_per_second_at_any_frame_rate(fps):
    motion = follow(0.2, fps)
    assert motion.speed[0, 0] == pytest.approx(0.2, rel=0.1)
    assert predict(motion, 0.5).shape[0, 0] == pytest.approx(0.15 + 0.2 * 2.5, abs=0.02)


def test_one_step_is_as_good_as_many_short_ones():
    motion, slow = follow(0.2, 10), follow(0.2, 10)
    for _ in range(100):
        slow = predict(slow, 0.01)
    once = predict(motion, 1.0)
    np.testing.assert_allclose(once.shape, slow.shape, atol=1e-3)
    np.testing.assert_allclose(once.shape_variance, slow.shape_variance, rtol=0.05)


def test_what_is_not_seen_is_known_less_and_less_and_a_look_helps():
    motion = follow(0.0, 10)
    later = predict(motion, 1.0)
    assert (later.shape_variance > motion.shape_variance).all()
    assert (correct(later, shape_at(0.1)).shape_variance < later.shape_variance).all()


def test_large_boxes_may_move_further_than_small_ones():
    small, large = (predict(begin(shape_at(0.1, w=w)), 0.2).shape_variance[0, 0] for w in (0.01, 0.1))
    assert large == pytest.approx(100 * small)


def test_shapes_stay_within_bounds_whatever_the_speed():
    motion = begin(shape_at(0.1))
    motion.speed[:] = (1e6, -1e6, 1e6, -1e6)
    left, top, width, height = predict(motion, 10.0).shape[0]
    assert (left, top) == (2.0, -1.0)
    assert np.exp([width, height]) == pytest.approx([3.0, LEAST_SIZE])
