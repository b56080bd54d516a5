"""Pictures that teach colour: the paint shows by day, and nothing can be told where the light hides it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from datasets.street.drawing.sprite import SOLID
from datasets.street.portraits import SIDE, portrait
from serving.common.tensors import Image
from tools.shipped.colour.lights import at_night, exposed, under_sodium, without_colour
from tools.shipped.colour.paints import COLOURS, PAINTS
from tools.shipped.colour.pictures import Real, samples, seen
from tools.shipped.colour.train_colour import UNSURE, labels

HUES = {"red": (168, 12), "blue": (90, 130), "green": (35, 88), "yellow": (5, 32)}


def hue_share(image: Image, first: int, last: int) -> float:
    """Share of the clearly coloured pixels whose hue (0 … 179) lies there."""
    hue, saturation, value = cv2.split(cv2.cvtColor(image, cv2.COLOR_BGR2HSV))
    clear = (saturation > 70) & (value > 40)
    inside = (hue >= first) & (hue <= last) if first < last else (hue >= first) | (hue <= last)
    return float(inside[clear].mean()) if clear.any() else 0.0


@pytest.mark.parametrize("colour", HUES)
def test_a_portrait_is_mostly_of_the_paint_that_was_asked_for(colour: str) -> None:
    rng = np.random.default_rng(3)
    for number in range(12):
        paint = PAINTS[colour][number % len(PAINTS[colour])]
        assert hue_share(portrait(rng, paint)[..., :3], *HUES[colour]) > 0.4


def test_a_portrait_holds_the_whole_vehicle_and_little_else() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        picture = portrait(rng, PAINTS["white"][0])
        assert 40 < max(picture.shape[:2]) <= 2 * SIDE
        solid = picture[..., 3] >= SOLID
        assert solid.mean() > 0.4
        assert solid.any(axis=0)[[0, -1]].all()
        assert solid.any(axis=1)[[0, -1]].all()


def pictures() -> list[Image]:
    rng = np.random.default_rng(2)
    return [on_grey(portrait(rng, PAINTS[name][0])) for name in COLOURS]


def on_grey(vehicle: Image) -> Image:
    ground = 110 * (1 - vehicle[..., 3:] / 255)
    laid: Image = np.clip(vehicle[..., :3] + ground, 0, 255).astype(np.uint8)
    return laid


def test_under_sodium_all_is_of_one_hue_and_without_colour_of_none() -> None:
    rng = np.random.default_rng(1)
    for image in pictures():
        assert hue_share(under_sodium(image, rng), 5, 30) > 0.6
        grey = without_colour(image, rng).astype(int)
        # One tint for all: channels are in proportion.
        bright = (grey.max(axis=2) < 250) & (grey.min(axis=2) > 60)
        if bright.sum() > 20:
            ratio = grey[bright][:, 0] / grey[bright][:, 2]
            assert ratio.std() < 0.05


@pytest.mark.parametrize(("light", "least"), [(exposed, 0.4), (at_night, 0.2)])
@pytest.mark.parametrize("colour", ["red", "green"])
def test_by_day_and_in_street_light_the_colour_is_still_to_be_seen(light: object, least: float, colour: str) -> None:
    assert callable(light)
    rng, shares = np.random.default_rng(1), []
    for _ in range(20):
        image = np.ascontiguousarray(portrait(rng, PAINTS[colour][0])[..., :3])
        shares.append(hue_share(light(image, rng), *HUES[colour]))
    assert np.median(shares) > least


def some(count: int = 80) -> Real:
    rng = np.random.default_rng(5)
    noise = [rng.integers(60, 180, (30, 40, 3), dtype=np.uint8) for _ in range(6)]
    return Real([(image, name) for image, name in zip(pictures(), COLOURS, strict=True)], noise, noise)


def test_colours_come_equally_often_and_where_none_can_be_told_all_are_as_likely() -> None:
    drawn = samples(160, some(), np.random.default_rng(1))
    assert drawn.chances.sum() == pytest.approx(1)
    told = drawn.targets.max(axis=1) > 0.5
    untold = drawn.targets[~told]
    assert np.allclose(untold, 1 / len(COLOURS))
    by_colour = (drawn.targets[told] * drawn.chances[told, None]).sum(axis=0)
    assert by_colour == pytest.approx(np.full(len(COLOURS), by_colour.mean()), rel=0.02)
    assert 0.15 < drawn.chances[~told].sum() < 0.4


def test_another_look_at_a_picture_is_a_picture() -> None:
    rng = np.random.default_rng(1)
    for image in pictures() * 5:
        other = seen(image, rng)
        assert other.dtype == np.uint8
        assert min(other.shape[:2]) >= 4


def test_what_is_judged_was_never_learnt_nor_tuned() -> None:
    learnt, tuned, judged = (labels(lot) for lot in ("learnt", "tuned", "judged"))
    assert len(judged) == 200
    assert not learnt.keys() & judged.keys()
    assert not tuned.keys() & judged.keys()
    assert not learnt.keys() & tuned.keys()
    for lot in (learnt, tuned, judged):
        assert set(lot.values()) <= {*COLOURS, UNSURE}
