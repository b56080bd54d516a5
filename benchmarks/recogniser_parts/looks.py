"""Looks at tracked objects of real clips: where each object is at some moments and, once a person has said so, its
type.

``objects.csv`` holds them without a picture: clip, detector, track, frame, box in shares of the frame, type.
The type is the object's, so all looks of a track have the same; ``unclear`` where a person cannot tell, where the box
holds several things, or where the track changes its object.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import av
import cv2
import numpy as np

from operators.base import Operator, ask
from operators.detect.motion import MotionDetector
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.frame import Box, frame_of
from operators.testing import call
from operators.track.operator import Track
from operators.wire.schema import FrameId
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.catalogue.public import public_model
from serving.catalogue.pull import pull
from serving.common.tensors import Image

DATA = Path(os.environ.get("SLUICE_DATA", "../shared/data"))
LABELLED = Path(__file__).parent / "objects.csv"
CLIPS = ("street-level", "car-detection", "person-bicycle-car-detection")
DETECTORS = ("motion", "yolox-nano")
PHOTOS = "coco128_val"
"""A folder of photos, each by another camera, with boxes of objects beside them."""
ROAD_USERS = ("person", "bicycle", "car", "motorcycle", "bus", "truck")
TO_LABEL, UNCLEAR = "", "unclear"
FPS = 12
"""Frames of a clip's second that are analysed, at most."""
LEAST_AREA = 0.002
"""Share of the frame; smaller objects are not looked at, as in the examples."""
LEAST_PHOTO_AREA = 0.004
AFTER_S = (0.0, 0.35, 0.7, 1.05, 1.55, 2.55, 4.55)
"""Moments of a track's looks since its first."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at an object."""

    clip: str
    detector: str
    track: int
    frame: int
    """Number of the frame in the clip, from 0."""
    box: Box
    kind: str = TO_LABEL


def video(clip: str) -> Path:
    """Where a clip lies in the sample data."""
    return DATA / "videos" / f"{clip}.mp4"


def pictures(clip: str) -> Iterator[tuple[int, float, Image]]:
    """Number, media time in seconds and pixels of the frames that are analysed."""
    with av.open(str(video(clip))) as container:
        every = max(1, round(float(container.streams.video[0].average_rate or FPS) / FPS))
        for number, picture in enumerate(container.decode(video=0)):
            if number % every == 0:
                yield number, float(picture.time or 0.0), picture.to_ndarray(format="bgr24")


def frame_s(clip: str) -> float:
    """Seconds from one frame of a clip to the next."""
    with av.open(str(video(clip))) as container:
        return 1 / float(container.streams.video[0].average_rate or FPS)


def photo(number: int) -> Image:
    """One of the photos."""
    path = DATA / "images" / PHOTOS / f"{number:012}.jpg"
    image = cv2.imread(str(path))
    if image is None:
        raise FileNotFoundError(f"no photo at {path}: set SLUICE_DATA to the folder of sample data")
    return np.asarray(image, np.uint8)


async def seen(clip: str, detector: str, models: Path) -> list[Look]:
    """The looks at what a detector and the tracker find in a clip; ``models``: a folder with the detector."""
    backend = Backend(Catalogue([models]))
    await backend.start()
    try:
        return await _tracked(clip, detector, _detector(detector, backend))
    finally:
        await backend.stop()


def fetch(detector: str, models: Path) -> None:
    """Put a public detector into a folder, with the weights of the sample data."""
    model = public_model(detector)
    (models / detector).mkdir(parents=True)
    shutil.copy(DATA / "weights" / "yolox_nano.onnx", models / detector / model.file)
    pull(model, models)


def _detector(name: str, backend: Backend) -> Operator:
    if name == "motion":
        return MotionDetector("detect")
    return OnnxDetector(backend, "detect", [name], Reported(ROAD_USERS))


async def _tracked(clip: str, name: str, detector: Operator) -> list[Look]:
    tracker, first = Track(), dict[int, float]()
    taken: dict[int, list[Look]] = defaultdict(list)
    for number, media_time_s, image in pictures(clip):
        frame = frame_of(FrameId(clip, "run", number), image, media_time_s, datetime.now(UTC))
        regions = (await ask(detector, frame, [], call(name))).regions
        await tracker.process(frame, regions, call())
        for region in regions:
            track = region.track_id
            if track is None or region.box.area < LEAST_AREA:
                continue
            due_s = first.setdefault(track, media_time_s) + AFTER_S[min(len(taken[track]), len(AFTER_S) - 1)]
            if len(taken[track]) < len(AFTER_S) and media_time_s >= due_s - 1e-6:
                taken[track].append(Look(clip, name, track, number, rounded(region.box)))
    return [look for looks in taken.values() for look in looks]


def annotated() -> list[Look]:
    """One look at each vehicle of the photos that is large enough, and at the largest person of each photo."""
    names = public_model("yolox-nano").class_names()
    looks: list[Look] = []
    for file in sorted((DATA / "images" / PHOTOS / "labels").glob("*.txt")):
        found = sorted((_annotation(line, names) for line in file.read_text().splitlines()), key=lambda it: -it[1].area)
        people = [box for name, box in found if name == "person" and box.area >= LEAST_PHOTO_AREA][:1]
        vehicles = [box for name, box in found if name in ROAD_USERS[1:] and box.area >= LEAST_PHOTO_AREA]
        for box in (*vehicles, *people):
            looks.append(Look(PHOTOS, "annotated", len(looks), int(file.stem), box))
    return looks


def _annotation(line: str, names: Sequence[str]) -> tuple[str, Box]:
    kind, x, y, width, height = map(float, line.split())
    return names[int(kind)], rounded(Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2))


def rounded(box: Box) -> Box:
    """As precise as the file."""
    return Box(*(round(float(edge), 4) for edge in (box.x_min, box.y_min, box.x_max, box.y_max)))


def read(path: Path = LABELLED) -> list[Look]:
    """All looks of a file."""
    with path.open(newline="") as file:
        return [
            Look(
                row["clip"],
                row["detector"],
                int(row["track"]),
                int(row["frame"]),
                Box(*(float(row[side]) for side in ("x_min", "y_min", "x_max", "y_max"))),
                row["type"],
            )
            for row in csv.DictReader(file)
        ]


def write(looks: Sequence[Look], path: Path) -> None:
    """Write looks, one a line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["clip", "detector", "track", "frame", "x_min", "y_min", "x_max", "y_max", "type"])
        for look in looks:
            box = look.box
            corners = (box.x_min, box.y_min, box.x_max, box.y_max)
            writer.writerow([look.clip, look.detector, look.track, look.frame, *corners, look.kind])


def by_track(looks: Sequence[Look]) -> dict[tuple[str, str, int], list[Look]]:
    """Looks by clip, detector and track."""
    tracks: dict[tuple[str, str, int], list[Look]] = defaultdict(list)
    for look in looks:
        tracks[look.clip, look.detector, look.track].append(look)
    return tracks


def images(looks: Sequence[Look]) -> dict[int, Image]:
    """The frames (or photos) of one clip that its looks need, by number."""
    if not looks:
        return {}
    if looks[0].clip == PHOTOS:
        return {look.frame: photo(look.frame) for look in looks}
    wanted = {look.frame for look in looks}
    return {number: image for number, _, image in pictures(looks[0].clip) if number in wanted}


def labelled(looks: Sequence[Look], kinds: dict[tuple[str, str, int], str]) -> list[Look]:
    """The looks with the types of their tracks."""
    return [replace(look, kind=kinds.get((look.clip, look.detector, look.track), look.kind)) for look in looks]
