from __future__ import annotations

import numpy as np
import pytest

from serving.profiling.agreement import AGREE, RIGHT, nearest, right_class, right_neighbour, same_class, same_neighbour

SCORES = np.array([[1.0, 2.0, 0.0], [5.0, 0.0, 1.0], [0.0, 0.0, 1.0]])


def test_classifiers_agree_where_the_best_class_is_the_same() -> None:
    other = np.array([[0.0, 9.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1]])
    assert same_class([SCORES], [other]).tolist() == [1.0, 0.0, 1.0]
    assert same_class([SCORES.reshape(3, 3, 1, 1)], [SCORES]).tolist() == [1.0] * 3
    assert right_class([1, 0, 0], [SCORES]).tolist() == [1.0, 1.0, 0.0]


def test_embedders_agree_where_the_nearest_other_is_the_same() -> None:
    vectors = np.array([[1.0, 0.0], [2.0, 0.2], [0.0, 1.0], [0.1, 5.0]])
    assert nearest(vectors).tolist() == [1, 0, 3, 2]
    assert same_neighbour([vectors], [vectors * 3]).tolist() == [1.0] * 4
    turned = np.array([[0.0, 1.0], [2.0, 0.2], [0.0, 1.0], [0.1, 5.0]])
    assert same_neighbour([vectors], [turned]).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert right_neighbour([7, 7, 1, 2], [vectors]).tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_vector_of_zeros_is_near_to_nothing_in_particular() -> None:
    assert nearest(np.zeros((3, 2))).tolist() == [1, 0, 0]


@pytest.mark.parametrize("task", ["classify", "embed"])
def test_every_task_without_boxes_has_its_measures(task: str) -> None:
    assert task in AGREE
    assert task in RIGHT
