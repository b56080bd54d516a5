"""What every pair of a detector and a recogniser finds on every frame of a clip, and what they take."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from benchmarks.replanning_parts.networks import Network, Thing, detect, recognise, timed
from operators.detect.agreement import SAME_OBJECT
from operators.detect.detections import overlaps
from serving.common.tensors import Image

Pair = tuple[str, str]
"""Detector and recogniser."""


@dataclass(frozen=True)
class Seen:
    """One frame."""

    detected_s: Mapping[str, float]
    objects: Mapping[str, int]
    """How many each detector finds."""
    recognised_s: Mapping[Pair, float]
    accuracy: Mapping[Pair, float]
    """Objects that are found and named as by the best pair, as a share of all objects of both, 0…1."""


def images(clip: Path, frames: int) -> list[Image]:
    """So many images, evenly over the clip."""
    video = cv2.VideoCapture(str(clip))
    last = int(video.get(cv2.CAP_PROP_FRAME_COUNT)) - 10
    found = []
    for place in np.linspace(0, last, frames).astype(int):
        video.set(cv2.CAP_PROP_POS_FRAMES, int(place))
        ok, image = video.read()
        if ok:
            found.append(image)
    video.release()
    return found


def seen(
    shown: Sequence[Image], detectors: Mapping[str, Network], recognisers: Mapping[str, Network], rng: random.Random
) -> list[Seen]:
    """All frames by all pairs; the first of each are the best, and what a first run takes does not count."""
    frames = [_frame(image, detectors, recognisers, rng) for image in [shown[0], *shown]]
    return [frame for frame in frames[1:] if frame.objects[next(iter(detectors))]]


def _frame(
    image: Image, detectors: Mapping[str, Network], recognisers: Mapping[str, Network], rng: random.Random
) -> Seen:
    things: dict[str, list[Thing]] = {}
    detected_s: dict[str, float] = {}
    for name in rng.sample(list(detectors), len(detectors)):
        things[name], detected_s[name] = timed(partial(detect, detectors[name], image))
    names: dict[Pair, list[str]] = {}
    recognised_s: dict[Pair, float] = {}
    pairs = [(detector, recogniser) for detector in detectors for recogniser in recognisers]
    for pair in rng.sample(pairs, len(pairs)):
        work = partial(recognise, recognisers[pair[1]], image, things[pair[0]])
        names[pair], recognised_s[pair] = timed(work)
    best = pairs[0]
    accuracy = {pair: _agreement(things[best[0]], names[best], things[pair[0]], names[pair]) for pair in pairs}
    return Seen(detected_s, {name: len(each) for name, each in things.items()}, recognised_s, accuracy)


def _agreement(wanted: Sequence[Thing], called: Sequence[str], found: Sequence[Thing], names: Sequence[str]) -> float:
    if not wanted and not found:
        return 1.0
    shares = overlaps(_corners(found), _corners(wanted)) if wanted and found else np.zeros((len(found), len(wanted)))
    matched = right = 0
    for index in range(len(found)):
        best = int(shares[index].argmax()) if wanted else 0
        if wanted and shares[index, best] >= SAME_OBJECT:
            shares[:, best] = 0.0
            matched += 1
            right += names[index] == called[best]
    return right / (len(wanted) + len(found) - matched)


def _corners(things: Sequence[Thing]) -> np.ndarray:
    return np.array([[box.x_min, box.y_min, box.x_max, box.y_max] for box, _ in things], np.float64)
