"""Objects of a crowd keep who they are where the detector skips frames, live and where frames wait.

The crowd is a generated street's, and the detector finds what its truth says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from datasets.street import StreetFrame, open_street
from operators.base import Call, Operator, ask
from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.detect.needed.stream import StreamView
from operators.frames.frame import Box, Frame, Region
from operators.testing.builders import call, make_frame, make_region
from operators.testing.engine import FakeEngine
from operators.track.operator import Track
from tests.operators.detect.needed.test_look_ahead import Behind

FPS = 10
CROWD = {"seed": "6", "mix": "person:1", "density": "1.5", "width": "320", "height": "180", "fps": str(FPS)}
LEAST_VISIBLE = 0.3
Place = tuple[float, float, float, float]


@cache
def crowd() -> Sequence[StreetFrame]:
    return list(open_street({**CROWD, "duration_s": "15"}))


class Truth:
    """Finds what the truth of the picture says."""

    def __init__(self) -> None:
        self._objects = {frame.image.tobytes(): frame.objects for frame in crowd()}
        self.asked = 0

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        self.asked += frame.stream != "audit"
        found = [one for one in self._objects[frame.image.tobytes()] if one.visible >= LEAST_VISIBLE]
        return [Region(at, "find", Box(*one.box), one.label, 0.9) for at, one in enumerate(found)]

    def forget(self, stream: str) -> None:
        raise AssertionError("the stream goes on")


def frames() -> list[Frame]:
    return [make_frame(seq, one.media_time_s, one.image) for seq, one in enumerate(crowd())]


async def switches(detector: Operator, most: int) -> int:
    """How often the track of an object is not the one that it had before."""
    behind, track, changed = Behind(frames()), Track(), 0
    behind.most, before = most, dict[int, int]()
    for frame, given in behind.calls():
        regions = (await ask(detector, frame, (), given)).regions
        if isinstance(detector, DetectWhenNeeded):
            detector.published(frame.header.id)
        await track.process(frame, regions, call())
        for one in crowd()[frame.seq].objects:
            best = max(regions, key=lambda each: overlap(each.box, one.box), default=None)
            if best is not None and best.track_id is not None and overlap(best.box, one.box) >= 0.5:
                changed += before.get(one.id, best.track_id) != best.track_id
                before[one.id] = best.track_id
    return changed


def overlap(box: Box, place: Place) -> float:
    across = min(box.x_max, place[2]) - max(box.x_min, place[0])
    down = min(box.y_max, place[3]) - max(box.y_min, place[1])
    both = max(0.0, across) * max(0.0, down)
    return both / (box.area + (place[2] - place[0]) * (place[3] - place[1]) - both)


def test_a_view_that_begins_anew_gives_no_number_twice() -> None:
    view, numbers = StreamView("run-1"), []
    for seq in range(3):
        found = [make_region(x=0.1 + 0.3 * seq)]
        view.look(frames()[seq], 1)
        view.found(found)
        numbers.append(found[0].identity)
        view = view.anew()
    assert numbers == [0, 1, 2]


def test_a_detector_that_failed_where_the_picture_changed_its_size_is_asked_again() -> None:
    view, sizes = StreamView("run-1"), [(64, 48), (64, 48), (48, 64), (48, 64), (64, 48), (64, 48)]
    looks = []
    for seq, (width, height) in enumerate(sizes):
        looks.append(view.look(make_frame(seq, seq / 25, np.zeros((height, width, 3), np.uint8)), 3))
        if seq == 0:
            view.found([])
    assert looks == ["first", None, "first", "first", "first", None]


@pytest.mark.parametrize("most", [0, 100], ids=["live", "look-ahead"])
async def test_a_crowd_keeps_who_it_is(most: int) -> None:
    engine, often, seldom = FakeEngine(), Truth(), Truth()
    engine.costs_s["finder"] = 10.0
    needed = DetectWhenNeeded("find", seldom, "finder", SkipTerms(0.9, 0.3, engine))
    on_every_frame, with_gaps = await switches(often, 0), await switches(needed, most)
    assert seldom.asked < 0.8 * often.asked
    assert with_gaps <= 1.1 * on_every_frame
    await needed.close(30.0)
