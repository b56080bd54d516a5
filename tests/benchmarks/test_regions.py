"""Regions are packed without overlaps; what a way finds is counted as it is told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.regions_parts.looking import Look
from benchmarks.regions_parts.packing import packed
from benchmarks.regions_parts.scores import Score, score
from operators.frames.frame import Box, frame_of
from operators.wire.schema import FrameId

SIDE = 416


@given(st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=1, max_size=12))
def test_regions_lie_apart_and_within_the_picture(sizes: list[tuple[int, int]]) -> None:
    scale, places = packed(sizes, SIDE)
    assert 0 < scale <= 1
    taken = np.zeros((SIDE, SIDE), np.int8)
    for (width, height), (left, top) in zip(sizes, places, strict=True):
        w, h = max(1, round(width * scale)), max(1, round(height * scale))
        assert left + w <= SIDE
        assert top + h <= SIDE
        taken[top : top + h, left : left + w] += 1
    assert taken.max() == 1


def test_what_is_found_is_counted_by_height_and_beside_the_whole_frame() -> None:
    frame = frame_of(FrameId("s", "r", 0), np.zeros((100, 100, 3), np.uint8), 0.0)
    low, high, nothing = Box(0.1, 0.1, 0.3, 0.3), Box(0.5, 0.1, 0.9, 0.9), Box(0.4, 0.1, 0.45, 0.2)
    counted = Score()
    score(counted, frame, [low, high], Look([low, nothing], 3), Look([low, high], 1))
    row = counted.row()
    assert (row["runs"], row["recall_16_32"], row["recall_64_128"], row["precision"]) == (3, 1.0, 0.0, 0.5)
    assert (row["as_whole"], row["more"]) == (0.5, 0.5)
