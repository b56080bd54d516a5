"""The base's features of the crops: each as it is, and as other cameras might show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np
import onnx
from numpy.random import Generator
from numpy.typing import NDArray

from serving.common.tensors import Image
from serving.engines.network import EngineNetwork, run_in_steps
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.preprocess import batch
from specialization.kit.base import Base, Rows
from specialization.kit.crops import Crops

LOOKS = 3
"""At each crop: as it is, and cut, mirrored and blurred at random. Its colours stay: they may tell the class."""
STEP = 32
MOST_TUNED = 3000
"""Crops whose data before the last block are kept, to train it."""
SEED = 29

Report = Callable[[str, float], None]
"""Told of a step, and the share of it that is done."""


@dataclass(frozen=True, slots=True)
class CropFeatures:
    """Features of N crops; first those as they are, then other looks."""

    features: NDArray[np.float32]
    """N × LOOKS × F."""
    kept: NDArray[np.intp]
    """The crops of ``before``."""
    before: NDArray[np.float16]
    """Kept × LOOKS × …: what the last block is given."""


def seen(base: Base, crops: Crops, threads: int, report: Report) -> CropFeatures:
    """Run all crops through the base, some at a time: no more of them are in memory."""
    body, block = (_opened(base, part, threads) for part in base.parts())
    count = len(crops.labels)
    kept = _kept(np.array(crops.labels), len(crops.classes))
    features, before = list[Rows](), list[NDArray[np.float16]]()
    done = 0
    try:
        pictures = iter(crops.images)
        while images := list(islice(pictures, STEP // LOOKS)):
            rows = run_in_steps(body.run, batch(base.card.input, list(_looks(images, done)))[0], STEP)[0]
            found = run_in_steps(block.run, rows, STEP)[0]
            features.append(found.reshape(len(images), LOOKS, -1))
            mine = np.isin(np.arange(done, done + len(images)), kept)
            before.append(rows.reshape(len(images), LOOKS, *rows.shape[1:])[mine].astype(np.float16))
            done += len(images)
            report("features", done / count)
    finally:
        body.close()
        block.close()
    return CropFeatures(np.concatenate(features), kept, np.concatenate(before))


def _kept(labels: NDArray[np.intp], classes: int) -> NDArray[np.intp]:
    """At most ``MOST_TUNED`` crops, all classes up to the same number, from all parts of each."""
    most = MOST_TUNED // classes
    chosen = [np.flatnonzero(labels == label) for label in range(classes)]
    thinned = [mine[np.unique(np.linspace(0, len(mine) - 1, min(len(mine), most)).astype(int))] for mine in chosen]
    return np.sort(np.concatenate(thinned))


def _looks(images: Sequence[Image], first: int) -> Iterator[Image]:
    """All looks at each picture; the same picture is changed in the same way each time."""
    for number, image in enumerate(images, first):
        rng = np.random.default_rng((SEED, number))
        yield image
        yield from (degrade(nudge(image, rng), rng) for _ in range(LOOKS - 1))


def _opened(base: Base, part: onnx.ModelProto, threads: int) -> EngineNetwork:
    return EngineNetwork(base.card.name, part, OnnxRuntimeEngine(base.card.name, threads=threads))


def nudge(image: Image, rng: Generator) -> Image:
    """Mirrored or not, and cut by up to a tenth on every side: for pictures that were augmented before."""
    height, width = image.shape[:2]
    left, top, right, bottom = (int(length * rng.uniform(0, 0.1)) for length in (width, height, width, height))
    cut = image[top : height - bottom, left : width - right]
    return np.ascontiguousarray(cut[:, ::-1]) if rng.random() < 0.5 else cut


def degrade(image: Image, rng: Generator) -> Image:
    """Few pixels, soft focus, a moving object, noise, a codec."""
    if rng.random() < 0.5:
        side = math.exp(rng.uniform(math.log(18), math.log(96)))
        scale = min(1.0, side / max(image.shape[:2]))
        size = tuple(max(4, round(length * scale)) for length in image.shape[1::-1])
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.2))
    if rng.random() < 0.1:
        image = cv2.blur(image, (int(rng.integers(2, 6)), 1))
    if rng.random() < 0.3:
        noise = rng.normal(0, rng.uniform(2, 10), image.shape)
        image = np.clip(image + noise, 0, 255).astype(np.uint8)
    if rng.random() < 0.5:
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(20, 95))])
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return image
