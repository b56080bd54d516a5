"""Labelled crops of many streets, cut as a motion detector would: boxes a little off, neighbours in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.palette import between, chance, pick
from datasets.street.drawing.sprite import Image
from datasets.street.options import Options
from datasets.street.scene import Scene, Seen
from datasets.street.traffic import LABELS, OTHER

Rng = np.random.Generator
Box = tuple[float, float, float, float]
Crop = tuple[Image, str]
FRAMES_PER_SCENE = 24
LOOKS_PER_ACTOR = 2
LEAST_VISIBLE = 0.5
LEAST_SIDE_PX = 9
# People and strays are slow and so are seen in more frames: fewer of them, and each class is met about as often.
ARRIVALS = {label: {"person": 0.8, OTHER: 0.8}.get(label, 1.0) for label in LABELS}
SIZES = ((640, 360), (640, 360), (480, 270), (800, 450))


def street_crops(seed: int, count: int, size: int, view: str = "above") -> tuple[NDArray[np.uint8], list[str]]:
    """``count`` crops (count × size × size × 3, blue-green-red, stretched) and their labels, all classes equally often.

    ``other`` are strays, pieces of the background and patches of light or shade; parked vehicles are in no crop.
    """
    quota = {label: count // len(LABELS) + (index < count % len(LABELS)) for index, label in enumerate(LABELS)}
    rng = np.random.default_rng([seed, 7])
    taken: Counter[str] = Counter()
    images = np.empty((count, size, size, 3), np.uint8)
    labels: list[str] = []
    while len(labels) < count:
        wanted = {label: ARRIVALS[label] * (1.0 if taken[label] < quota[label] else 0.15) for label in LABELS}
        for image, label in scene_crops(rng, wanted, view):
            if taken[label] < quota[label]:
                images[len(labels)] = cv2.resize(image, (size, size), interpolation=_smooth(image, size))
                labels.append(label)
                taken[label] += 1
    order = rng.permutation(count)
    return images[order], [labels[index] for index in order]


def _smooth(image: Image, size: int) -> int:
    return cv2.INTER_AREA if min(image.shape[:2]) > size else cv2.INTER_LINEAR


def scene_crops(rng: Rng, mix: dict[str, float], view: str = "above") -> Iterator[Crop]:
    """Crops of one new street at moments some seconds apart."""
    width, height = pick(rng, SIZES)
    light, weather = pick(rng, ("day", "dusk", "night"), (5, 2, 3)), pick(rng, ("clear", "rain", "fog"), (8, 1, 1))
    seed = int(rng.integers(1 << 31))
    options = Options(seed, width=width, height=height, light=light, weather=weather, view=view, density=1.3, mix=mix)
    scene, time_s, looks = Scene(options), 0.0, Counter[int]()
    for _ in range(FRAMES_PER_SCENE):
        frame, seen = scene.render(time_s)
        time_s += between(rng, 1.5, 4.0)
        for one in seen:
            if usable(one) and looks[one.actor.id] < LOOKS_PER_ACTOR and chance(rng, 0.7):
                looks[one.actor.id] += 1
                yield cut(frame, jittered(rng, one.box)), one.actor.label
        taken = [one.box for one in seen] + parked(scene)
        if chance(rng, 0.15) and (box := nothing(rng, frame, taken, seen)) is not None:
            yield cut(frame, box), OTHER


def usable(one: Seen) -> bool:
    """Whether enough of it is visible to recognise it."""
    x0, y0, x1, y1 = one.box
    return one.visible >= LEAST_VISIBLE and min(x1 - x0, y1 - y0) >= LEAST_SIDE_PX


def jittered(rng: Rng, box: Box) -> Box:
    """The box as background subtraction might have it, plus the margin that recognisers ask for."""
    x0, y0, x1, y1 = box
    wide, high = x1 - x0, y1 - y0
    left, right, top, bottom = rng.normal(0.07, 0.06, 4)
    return x0 - left * wide, y0 - top * high, x1 + right * wide, y1 + (bottom + 0.02) * high


def cut(frame: Image, box: Box) -> Image:
    """The pixels of a box, as far as they are in the frame."""
    height, width = frame.shape[:2]
    x0, y0 = int(np.clip(box[0], 0, width - 3)), int(np.clip(box[1], 0, height - 3))
    x1, y1 = int(np.clip(box[2], x0 + 3, width)), int(np.clip(box[3], y0 + 3, height))
    return frame[y0:y1, x0:x1]


def parked(scene: Scene) -> list[Box]:
    """Where vehicles stand that are part of the background."""
    boxes: list[Box] = []
    for fixture in scene.fixtures:
        if fixture.kind == "parked":
            sprite = fixture.layers[0]
            high, wide = sprite.pixels.shape[:2]
            boxes.append((sprite.left, sprite.top, sprite.left + wide, sprite.top + high))
    return boxes


def nothing(rng: Rng, frame: Image, taken: list[Box], seen: list[Seen]) -> Box | None:
    """A box of common size without an object in it; often beside one, where its light or shade falls."""
    height, width = frame.shape[:2]
    for _ in range(12):
        wide = width * float(np.exp(rng.uniform(np.log(0.03), np.log(0.35))))
        high = wide * between(rng, 0.4, 2.2)
        if seen and chance(rng, 0.4):
            x0, _, x1, y1 = seen[int(rng.integers(len(seen)))].box
            left = x1 + 1 if chance(rng, 0.5) else x0 - wide - 1
            top = y1 - high * between(rng, 0.3, 1.0)
        else:
            left, top = between(rng, 0, width - wide), between(rng, height * 0.15, height * 0.98) - high / 2
        box = (left, max(top, 0.0), left + wide, min(top + high, height))
        inside = box[0] >= 0 and box[2] <= width and box[3] - box[1] > LEAST_SIDE_PX
        if inside and not any(overlap(box, other) > 0 for other in taken):
            return box
    return None


def overlap(a: Box, b: Box) -> float:
    """Area in both boxes."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)
