"""What detections show of filled frames is held against filling where a camera shakes, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from operators.base import Call
from operators.detect.needed.doubt import MOST_CREDIT, FillingDoubt, Halved
from operators.detect.needed.matching import misplaced
from operators.detect.needed.window import FrameWindow
from operators.frames.frame import Frame, Region
from operators.testing.builders import make_frame
from serving.common.tensors import Image
from tests.operators.detect.needed.test_look_ahead import Behind
from tests.operators.detect.needed.test_operator import Finder, needed
from tests.operators.detect.needed.test_window import BACKGROUND, known_of, objects

FPS, FRAMES = 24, 240
Shift = Callable[[int], float]
"""How far the camera's picture has moved to the right, in pixels, by frame."""


def still(at: int) -> float:
    return 0.0


def shaken(at: int) -> float:
    return (0.0, 17.0, -14.0, 16.0, -17.0, 13.0, -15.0)[at * 5 % 7]


def swaying(at: int) -> float:
    return 24 * math.sin(2 * math.pi * at / FPS / 2.5)


def picture(at: int, shift: Shift) -> Image:
    """A fifth of the picture shows that it moves."""
    image = BACKGROUND.copy()
    image[-24:] = np.kron(
        np.random.default_rng(4).integers(0, 2, (3, 32, 1), np.uint8) * 200, np.ones((8, 8, 3), np.uint8)
    )
    return np.roll(image, round(shift(at)), 1)


class Sees(Finder):
    """Finds two boxes that move with the picture, and for every other half of a second a third one."""

    def __init__(self, shift: Shift) -> None:
        super().__init__()
        self._shift = shift

    def boxes(self, at: int) -> list[Region]:
        moving = [each for x in (60, 150) for each in objects(x + self._shift(at))]
        return moving + (objects(216) if at % 24 < 12 else [])

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        self.asked.append(frame.seq)
        return self.boxes(frame.seq)


async def played(shift: Shift) -> tuple[float, float]:
    """The share of frames on which the detector ran, and the mean share of objects that were filled elsewhere."""
    finder = Sees(shift)
    frames = [make_frame(at, at / FPS, picture(at, shift)) for at in range(FRAMES)]
    operator, behind, wrong = needed(finder, accuracy=0.9), Behind(frames), 0.0
    for frame, given in behind.calls():
        found = (await operator.process(frame, (), given)).regions  # not published: nothing is audited
        wrong += misplaced(finder.boxes(frame.seq), found, 0.45)
    return len(finder.asked) / FRAMES, wrong / FRAMES


async def played_without_doubt(shift: Shift, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    with monkeypatch.context() as patched:
        patched.setattr(FillingDoubt, "strict", property(lambda self: False))
        return await played(shift)


async def test_a_camera_that_shakes_is_detected_more_often_and_objects_lie_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, before = await played_without_doubt(shaken, monkeypatch)
    _, wrong = await played(shaken)
    assert before > 0.3
    assert wrong < before / 2


@pytest.mark.parametrize("shift", [still, swaying])
async def test_where_filling_is_right_as_often_as_is_wanted_it_goes_on(
    shift: Shift, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await played(shift) == await played_without_doubt(shift, monkeypatch)


def window(strict: bool) -> FrameWindow:
    """Half a second of two objects that jump, of which one is gone at the end."""
    known = known_of(BACKGROUND, [*objects(60), *objects(150)])
    return FrameWindow(known, [BACKGROUND] * 12, [at / 24 for at in range(13)], 3, 0.45, strict=strict)


@pytest.mark.parametrize(
    ("strict", "middle", "asked"),
    [
        (False, 80, [6, 9, 12]),
        (True, 80, [*range(3, 10), 12]),
        (True, 60, [6, 9, 12]),
    ],
    ids=["trusts", "doubts", "doubts, and nothing was wrong"],
)
def test_spans_in_doubt_are_halved_to_the_frame(strict: bool, middle: float, asked: list[int]) -> None:
    given, detected = window(strict), []
    while (at := given.wanted) is not None:
        detected.append(at)
        given.found([*objects(60)] if at == 12 else [*objects(middle if at == 6 else 60), *objects(150)])
    assert sorted(detected) == asked


@pytest.mark.parametrize(("strict", "asked"), [(False, [12]), (True, [12, 6])])
def test_a_window_that_its_ends_explain_is_tried_where_there_is_doubt(strict: bool, asked: list[int]) -> None:
    given, detected = window(strict), []
    while (at := given.wanted) is not None:
        detected.append(at)
        given.found([*objects(60), *objects(150)])
    assert detected == asked


def test_filled_frames_are_as_wrong_as_the_worse_of_those_beside() -> None:
    given = window(strict=False)
    given.found(objects(60))
    given.found([*objects(80), *objects(150)])
    given.found([*objects(60), *objects(150)])
    assert given.twice.wholes == pytest.approx(0.5)
    assert given.twice.halves == pytest.approx(0.0)
    assert given.doubtful == pytest.approx(0.5 * 7)


def test_credit_is_used_up_by_what_is_wrong_beyond_the_tolerance_and_earned_by_what_is_right() -> None:
    doubt, windows = FillingDoubt(0.2), 0
    while not doubt.strict:
        doubt.take(10, 2.0, Halved())
        windows += 1
    assert windows == MOST_CREDIT / (2.0 - 0.1 * 10)
    doubt.take(10, 0.0, Halved())
    assert not doubt.strict
    for _ in range(1000):
        doubt.take(10, 0.5, Halved())
    doubt.take(10, 1000.0, Halved())
    assert doubt.strict
    for _ in range(4):
        doubt.take(10, 0.0, Halved())
    assert not doubt.strict


def test_what_is_right_again_on_halves_is_not_doubted() -> None:
    """Where things move smoothly a half of a span is filled four times as well as the whole."""
    smooth, shakes = FillingDoubt(0.2), FillingDoubt(0.1)
    for _ in range(20):
        smooth.take(0, 0.0, Halved(0.5, 0.05))
        shakes.take(0, 0.0, Halved(0.5, 0.5))
    for doubt in (smooth, shakes):
        for _ in range(3):
            doubt.take(10, 2.0, Halved())
    assert (smooth.strict, shakes.strict) == (False, True)
