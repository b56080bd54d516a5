"""Faces whose landmarks are known are laid upright, enrolled photos and frames alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.base import Call
from operators.frames.crops import TEMPLATES
from operators.frames.frame import Box, Frame, Region
from operators.recognise.gallery import GalleryRecogniser
from operators.recognise.gallery_check import checked
from operators.recognise.portraits import DetectedObject
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from serving.common.tensors import Image

SIDE = 112
DOTS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255, 0, 255))
"""Colours of the landmarks; all else is grey."""
PEOPLE = ("ada", "bob", "eve")


def face(name: str) -> Image:
    """Grey squares, other ones for everybody, and five dots where aligned faces have their landmarks."""
    squares = np.random.default_rng(PEOPLE.index(name)).integers(20, 235, (4, 4), np.uint8)
    image = cv2.cvtColor(np.kron(squares, np.ones((SIDE // 4, SIDE // 4), np.uint8)), cv2.COLOR_GRAY2BGR)
    for (x, y), colour in zip(TEMPLATES["arcface"] * SIDE, DOTS, strict=True):
        cv2.circle(image, (round(x), round(y)), 5, colour, -1)
    return image


def picture(name: str, degrees: float = 0.0, scale: float = 1.0) -> Image:
    """A scene with somebody's face in the middle, turned and scaled."""
    turn = cv2.getRotationMatrix2D((SIDE / 2, SIDE / 2), degrees, scale)
    turn[:, 2] += (300 - SIDE) / 2
    return cv2.warpAffine(face(name), turn, (300, 300), borderValue=(90, 90, 90))


class Dots:
    """A detector of faces that are five coloured dots; it tells where these are, or does not."""

    def __init__(self, landmarks: bool = True) -> None:
        self._landmarks = landmarks

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        size = frame.width, frame.height
        places = [np.argwhere(np.abs(frame.image.astype(int) - colour).max(axis=2) < 90)[:, ::-1] for colour in DOTS]
        if not all(map(len, places)):
            return []
        points = np.array([(each.mean(axis=0) + 0.5) / size for each in places])
        left, top, right, bottom = *points.min(axis=0), *points.max(axis=0)
        landmarks = tuple((float(x), float(y)) for x, y in points) if self._landmarks else None
        return [replace(make_region(label="face"), box=Box(left, top, right, bottom), landmarks=landmarks)]

    def forget(self, stream: str) -> None:
        pass


def engine(align: str | None) -> FakeEngine:
    """An embedder that compares pictures pixel by pixel."""
    size = {"width": SIDE, "height": SIDE, "align": align}

    def answer(batch: np.ndarray) -> list[np.ndarray]:
        small = np.stack([cv2.resize(item.mean(axis=0), (16, 16), interpolation=cv2.INTER_AREA) for item in batch])
        return [(small - small.mean(axis=(1, 2), keepdims=True)).reshape(len(batch), -1)]

    return FakeEngine(look=(card_of("look", task="embed", classes=None, input=size, min_similarity=0.7), answer))


def recogniser(folder: Path, align: str | None, detector: Dots, degrees: float = 0.0) -> GalleryRecogniser:
    for name in PEOPLE:
        (folder / name).mkdir(parents=True)
        cv2.imwrite(str(folder / name / "1.jpg"), picture(name, degrees), [cv2.IMWRITE_JPEG_QUALITY, 98])
    known = engine(align)
    finder = DetectedObject(detector, "dots", lambda region: True)
    return GalleryRecogniser(known, Roles.of(["look"], known.card), "who", folder, finder=finder)


async def answers(known: GalleryRecogniser, detector: Dots, degrees: float) -> list[str]:
    said = []
    for name in PEOPLE:
        frame = make_frame(image=picture(name, degrees, 1.2))
        regions = await detector.process(frame, [], call())
        await known.process(frame, regions, call("look"))
        said += [region.attributes[0].label for region in regions]
    return said


@pytest.mark.parametrize("degrees", [-70.0, -20.0, 0.0, 45.0, 160.0])
async def test_who_was_enrolled_is_known_however_the_head_is_turned(tmp_path: Path, degrees: float) -> None:
    known = recogniser(tmp_path, "arcface", Dots(), degrees=10.0)
    await known.prepare()
    assert await answers(known, Dots(), degrees) == list(PEOPLE)


@pytest.mark.parametrize(("align", "landmarks"), [(None, True), ("arcface", False)])
async def test_without_landmarks_or_a_network_that_wants_them_boxes_are_cropped(
    tmp_path: Path, align: str | None, landmarks: bool
) -> None:
    known = recogniser(tmp_path, align, Dots(landmarks))
    await known.prepare()
    assert await answers(known, Dots(landmarks), 0.0) == list(PEOPLE)
    assert await answers(known, Dots(landmarks), 70.0) != list(PEOPLE)


@pytest.mark.parametrize(("scale", "threads"), [(1.0, 0), (7.0, 1)])
async def test_large_faces_do_not_keep_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: float, threads: int
) -> None:
    known = recogniser(tmp_path, "arcface", Dots())
    await known.prepare()
    frame = make_frame(image=cv2.resize(picture("bob", 30.0), None, fx=scale, fy=scale))
    (region,) = await Dots().process(frame, [], call())
    started = list[object]()

    async def counted(work: Callable[[], Any]) -> Any:
        started.append(work)
        return work()

    monkeypatch.setattr("operators.recognise.recogniser.in_thread", counted)
    await known.process(frame, [region], call("look"))
    assert (region.attributes[0].label, len(started)) == ("bob", threads)


async def test_a_check_lays_faces_upright_too(tmp_path: Path) -> None:
    report = await checked(recogniser(tmp_path, "arcface", Dots(), degrees=40.0), "look")
    assert (report.faults, report.doubts) == ((), ())


async def test_points_that_are_no_faces_are_cropped(tmp_path: Path) -> None:
    known = recogniser(tmp_path, "arcface", Dots())
    frame = make_frame(image=picture("ada"))
    (region,) = await Dots().process(frame, [], call())
    (upright,) = known.crops("look", frame, [region])
    assert upright.shape == (SIDE, SIDE, 3)
    for points in (((0.5, 0.5),) * 5, ((math.nan, 0.5),) * 5, ((2.0, 0.5), *(region.landmarks or ())[1:])):
        (crop,) = known.crops("look", frame, [replace(region, landmarks=points)])
        assert np.shares_memory(crop, frame.image)
