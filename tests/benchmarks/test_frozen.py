"""What is said of last layers on features that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from benchmarks.recogniser_parts.cameras import Named
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE
from benchmarks.recogniser_parts.frozen import LEVELS, least_confidence, seeing
from datasets.camera_crops import Crop
from serving.preprocess import batch
from tools.shipped.recipes import RECIPES

PIXELS = np.zeros((40, 40, 3), np.uint8)


def named(words: Sequence[str], confidence: Sequence[float], camera: str = "cam01") -> Named:
    """What is said of cars."""
    crops = [Crop(PIXELS, "car", "vietnam_cctv", camera, f"{camera}_{place}.jpg") for place in range(len(words))]
    return Named(crops, words, np.array(confidence))


def test_names_are_given_from_where_enough_of_them_are_right_on_the_mean_of_the_cameras() -> None:
    said = named(["car", "bus", "car", "car"], [0.9, 0.62, 0.7, 0.8])
    assert least_confidence(said) == 0.65
    other = named(["car"] * 20, [0.9] * 20, "cam02")
    both = Named([*said.crops, *other.crops], [*said.words, *other.words], np.append(said.confidence, other.confidence))
    assert least_confidence(both) == LEVELS[0]


def test_where_never_enough_are_right_the_highest_confidence_is_asked_for() -> None:
    assert least_confidence(named(["bus"] * 5, [0.96] * 5)) == LEVELS[-1]


def test_pictures_are_seen_as_they_will_be_served() -> None:
    backbone = nn.Sequential(nn.Conv2d(3, 4, 8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    images = [np.full((30, 50, 3), grey, np.uint8) for grey in (0, 100, 255)]
    size = MIDDLE.input
    with torch.inference_mode():
        expected = backbone(torch.from_numpy(batch(size, images)[0])).numpy()
    np.testing.assert_allclose(seeing(backbone, size)(images), expected, rtol=1e-4, atol=1e-5)


def test_they_say_the_words_of_the_one_that_ships() -> None:
    assert DEAR.classes == MIDDLE.classes == RECIPES[0].classes
