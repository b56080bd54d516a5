"""What is unlike all crops is doubted; what is like those of other folds seldom is."""

from __future__ import annotations

import numpy as np
import pytest

from specialization.kit.doubts import Doubts
from specialization.kit.familiarity import SCALE, USUAL
from specialization.kit.folds import FOLDS, Folds

LABELS = np.arange(400) % 2
FOLD = Folds(np.arange(400) // 2 % FOLDS, "run")


@pytest.fixture
def doubts() -> Doubts:
    """Two clouds in ten dimensions, two looks at each point; everything is measured and right."""
    rng = np.random.default_rng(1)
    middle = np.where(LABELS == 0, -4, 4)[:, None, None] * (np.arange(10) < 2)
    features = (middle + rng.normal(0, 1, (400, 2, 10))).astype(np.float32)
    return Doubts.of(features, LABELS, FOLD, np.ones(400, np.bool_), LABELS)


def test_of_what_was_not_learnt_from_as_much_is_doubted_as_is_unusual(doubts: Doubts) -> None:
    assert doubts.unlike.mean() == pytest.approx(1 - USUAL, abs=0.01)


def test_what_lies_between_all_that_was_learnt_is_beyond_the_limit(doubts: Doubts) -> None:
    strangers = np.zeros((5, 10), np.float32)
    assert (doubts.familiarity.distance(strangers) > doubts.limit).all()


def test_doubts_scale_scores_and_leave_what_is_other(doubts: Doubts) -> None:
    scores = np.tile(np.array([[1.0, 3.0]], np.float32), (400, 1))
    assert np.allclose(doubts.applied(scores, None), scores * np.where(doubts.unlike, SCALE, 1)[:, None])
    assert np.array_equal(doubts.applied(scores, 1), scores)
