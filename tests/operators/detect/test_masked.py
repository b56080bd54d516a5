"""A detector behind masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from operators.base import Call
from operators.detect.zoned import FEW, Masked
from operators.frames.frame import Frame, Region
from operators.frames.mask import Mask
from operators.frames.polygon import Polygon
from operators.testing import CALL, make_frame, make_region

LEFT: Polygon = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0))


class Finds:
    """A detector that finds these regions in every frame."""

    def __init__(self, *found: Region) -> None:
        self.found, self.forgotten, self.prepared = list(found), list[str](), 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        return list(self.found)

    def forget(self, stream: str) -> None:
        self.forgotten.append(stream)


async def test_each_stream_has_its_masks() -> None:
    left, right = make_region(0.1, 0.1), make_region(0.7, 0.1)
    masked = Masked(Finds(left, right), [Mask(LEFT, "ignore", ("yard",)), Mask(LEFT, "require", ("gate",))], 10)
    streams = ("yard", "gate", "roof")
    found = {name: (await masked.process(make_frame(stream=name), [], CALL)).regions for name in streams}
    assert found == {"yard": [right], "gate": [left], "roof": [left, right]}


async def test_an_ignored_crowd_takes_nobody_s_place() -> None:
    crowd, one = [make_region(0.1, 0.1, confidence=0.9)] * 5, make_region(0.7, 0.1, confidence=0.4)
    masked = Masked(Finds(*crowd, one, one), [Mask(LEFT, "ignore")], 1)
    assert (await masked.process(make_frame(), [], CALL)).regions == [one]


async def test_many_regions_and_corners_give_the_same() -> None:
    angles = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    circle = tuple((0.5 + 0.4 * float(np.cos(a)), 0.5 + 0.4 * float(np.sin(a))) for a in angles)
    regions = [make_region(*np.random.default_rng(seed).uniform(0, 0.8, 2)) for seed in range(150)]
    assert len(regions) * len(circle) > FEW
    masked = Masked(Finds(*regions), [Mask(circle, "ignore")], 1000)
    few = Masked(Finds(*regions[:50]), [Mask(circle, "ignore")], 1000)
    found = (await masked.process(make_frame(), [], CALL)).regions
    assert 0 < len(found) < len(regions)
    left = (await few.process(make_frame(), [], CALL)).regions
    assert [each for each in found if any(each is one for one in regions[:50])] == left


async def test_it_is_prepared_and_forgets_like_its_detector() -> None:
    detector = Finds()
    masked = Masked(detector, [Mask(LEFT, "ignore")], 10)
    await masked.prepare()
    masked.forget("yard")
    assert (detector.prepared, detector.forgotten) == (1, ["yard"])
