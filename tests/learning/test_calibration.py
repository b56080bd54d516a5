"""A recogniser is as sure as it is right, and names from where enough of its names are right."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.calibration import NEVER, balanced, least, temperature
from serving.common.tensors import softmax


def drawn(heat: float, count: int = 4000, seed: int = 1) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Scores of three classes, and labels drawn by what the scores say at this temperature."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (count, 3)).astype(np.float32)
    shares = softmax(scores / heat)
    labels = (rng.random(count)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return scores, labels.astype(np.intp)


@pytest.mark.parametrize("heat", [0.5, 1.0, 3.0])
def test_the_temperature_is_that_by_which_the_labels_were_drawn(heat: float) -> None:
    assert temperature(*drawn(heat)) == pytest.approx(heat, rel=0.12)


@pytest.mark.parametrize("right", [0.8, 0.95])
def test_from_the_least_confidence_on_enough_names_are_right(right: float) -> None:
    scores, labels = drawn(1.0)
    shares = softmax(scores)
    confidence = least(shares, labels, right)
    further, truth = drawn(1.0, seed=2)
    named = softmax(further).max(axis=1) >= confidence
    assert 0.2 < named.mean() < 1
    assert (further.argmax(axis=1) == truth)[named].mean() == pytest.approx(right, abs=0.03)


def test_where_no_confidence_is_enough_next_to_nothing_is_named() -> None:
    shares = softmax(np.random.default_rng(1).normal(0, 1, (300, 4)).astype(np.float32))
    assert least(shares, (shares.argmax(axis=1) + 1) % 4, 0.9) == NEVER


def test_all_classes_weigh_the_same() -> None:
    weights = balanced(np.array([0, 0, 0, 1]))
    assert weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
