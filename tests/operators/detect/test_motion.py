"""The motion detector on drawn scenes, where what moves is known exactly."""

import cv2
import numpy as np
import pytest

from operators.detect.motion import MotionDetector, MotionSettings
from operators.frames.planes import Planes
from operators.testing import CALL, make_frame
from operators.wire.result import MOVING

FPS = 10


def scene(box=None, seed=0, level=110, size=(240, 320)):
    """A textured background with camera noise, and optionally a bright box (left, top, right, bottom)."""
    texture = np.random.default_rng(1).integers(-20, 20, (*size, 1))
    noise = np.random.default_rng(seed + 2).normal(0, 3, (*size, 3))
    image = np.clip(level + texture + noise, 0, 255).astype(np.uint8)
    if box:
        left, top, right, bottom = box
        image[top:bottom, left:right] = (40, 60, 220)
    return image


async def detect(detector, images, stream="cam", run="run-1"):
    return [
        await detector.process(make_frame(i, i / FPS, image, stream, run), [], CALL) for i, image in enumerate(images)
    ]


def overlap(region, box, size=(240, 320)):
    left, top, right, bottom = region.box.pixels(size[1], size[0])
    w, h = min(right, box[2]) - max(left, box[0]), min(bottom, box[3]) - max(top, box[1])
    shared = max(w, 0) * max(h, 0)
    return shared / ((right - left) * (bottom - top) + (box[2] - box[0]) * (box[3] - box[1]) - shared)


async def test_finds_what_moves_and_only_that():
    boxes = [None] * 10 + [(20 + 8 * i, 100, 80 + 8 * i, 140) for i in range(20)]
    found = await detect(MotionDetector("detect"), [scene(box, i) for i, box in enumerate(boxes)])
    assert all(not regions for regions in found[:10])
    for regions, box in list(zip(found, boxes, strict=True))[10:]:
        assert len(regions) == 1
        assert overlap(regions[0], box) > 0.6
        assert (regions[0].label, regions[0].class_agnostic, regions[0].node) == (MOVING, True, "detect")
        assert 0 < regions[0].confidence <= 1


async def test_in_planes_it_finds_the_same_and_makes_no_image_of_them():
    boxes = [None] * 10 + [(20 + 8 * i, 100, 80 + 8 * i, 140) for i in range(20)]
    images = [scene(box, i) for i, box in enumerate(boxes)]
    planes = [Planes(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), "yuv601") for image in images]
    found = await detect(MotionDetector("detect"), planes)
    assert [len(regions) for regions in found] == [0] * 10 + [1] * 20
    assert all(overlap(regions[0], box) > 0.6 for regions, box in list(zip(found, boxes, strict=True))[10:])
    assert not any(each.is_converted for each in planes)


async def test_what_stands_still_becomes_background():
    parked = [scene(None, i) for i in range(10)] + [scene((100, 100, 160, 150), i) for i in range(80)]
    found = await detect(MotionDetector("detect", MotionSettings(absorb_s=4)), parked)
    assert found[15]
    assert not found[-1]


async def test_specks_and_a_change_of_light_are_no_objects():
    images = [scene(None, i) for i in range(10)] + [scene((100, 100, 104, 104), i) for i in range(5)]
    images += [scene(None, i, level=200) for i in range(3)]
    assert all(not regions for regions in await detect(MotionDetector("detect"), images))


async def test_streams_and_runs_have_their_own_background():
    detector = MotionDetector("detect")
    await detect(detector, [scene(None, i) for i in range(10)])
    other = [scene(None, i, level=60) for i in range(10)]
    for stream, run in (("cam", "run-2"), ("other", "run-1")):
        assert all(not regions for regions in await detect(detector, other, stream, run))


async def test_a_changed_size_is_survived():
    detector = MotionDetector("detect")
    await detect(detector, [scene(None, i) for i in range(10)])
    smaller = await detect(detector, [scene(None, i, size=(120, 200)) for i in range(3)])
    assert all(not regions for regions in smaller)


@pytest.mark.parametrize("limit", [1, 2])
async def test_at_most_max_objects_largest_first(limit):
    detector = MotionDetector("detect", MotionSettings(max_objects=limit))
    await detect(detector, [scene(None, i) for i in range(10)])
    image = scene((20, 20, 60, 60))
    image[100:200, 100:200] = (200, 30, 30)
    image[20:60, 250:300] = (0, 250, 250)
    (regions,) = [await detector.process(make_frame(10, 1.0, image), [], CALL)]
    assert len(regions) == limit
    assert overlap(regions[0], (100, 100, 200, 200)) > 0.6


@pytest.mark.parametrize("place", [0, 12])
@pytest.mark.parametrize("odd_s", [9 * 365 * 86_400.0, -9 * 365 * 86_400.0])
async def test_one_frame_with_an_odd_media_time_costs_nothing_of_what_comes_after_it(place, odd_s):
    detector = MotionDetector("detect")
    found = []
    for seq in range(30):
        image = scene((8 * seq - 100, 100, 8 * seq - 40, 140) if seq >= 15 else None, seed=seq)
        frame = make_frame(seq, odd_s if seq == place else seq / 10, image)
        found.append(await detector.process(frame, [], CALL))
    assert all(found[20:])
