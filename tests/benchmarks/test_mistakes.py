"""Each object that is wrong on a skipped frame is counted once, by what is wrong."""

from __future__ import annotations

import pytest

from benchmarks.mistakes import mistakes
from operators.frames.frame import Box, Region

HERE, NEAR, FAR = Box(0.1, 0.1, 0.5, 0.5), Box(0.3, 0.3, 0.7, 0.7), Box(0.8, 0.8, 0.9, 0.9)


def seen(box: Box, label: str = "car", confidence: float = 0.9) -> Region:
    return Region(id=0, node="detect", box=box, label=label, confidence=confidence)


@pytest.mark.parametrize(
    ("wanted", "found", "wrong"),
    [
        ([seen(HERE)], [seen(HERE)], {}),
        ([seen(HERE)], [], {"missed": 1}),
        ([seen(HERE)], [seen(NEAR)], {"moved": 1}),
        ([seen(HERE)], [seen(HERE, "truck")], {"named": 1}),
        ([seen(HERE, confidence=0.4)], [], {"unsure": 1}),
        ([], [seen(HERE)], {"stale": 1}),
        ([], [seen(HERE, confidence=0.35)], {"unsure": 1}),
        ([seen(HERE), seen(FAR)], [seen(FAR), seen(NEAR, "person")], {"missed": 1}),
    ],
)
def test_what_is_wrong(wanted: list[Region], found: list[Region], wrong: dict[str, int]) -> None:
    assert dict(mistakes(wanted, found)) == wrong
