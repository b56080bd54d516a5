from __future__ import annotations

import numpy as np
import pytest

from datasets.plates import CLASSES, SIDE, photo, pictures, plate


def test_there_are_120_classes_and_no_two_look_the_same() -> None:
    assert len(set(CLASSES)) == 120
    assert len({plate(label).tobytes() for label in range(120)}) == 120


def test_a_plate_covers_its_middle_and_none_of_the_corners() -> None:
    for label in range(len(CLASSES)):
        cover = plate(label)[..., 3]
        assert cover[36, 36] == 255
        assert not cover[[0, 0, -1, -1], [0, -1, 0, -1]].any()


def test_plates_are_kept_and_cannot_be_painted_over() -> None:
    assert plate(3) is plate(3)
    with pytest.raises(ValueError, match="read-only"):
        plate(3)[0, 0] = 255


def test_shape_and_type() -> None:
    (image,) = pictures(np.random.default_rng(0), [17])
    assert image.shape == (SIDE, SIDE, 3)
    assert image.dtype == np.uint8


def test_a_state_of_the_generator_gives_the_same_pictures() -> None:
    once, again, other = (pictures(np.random.default_rng(seed), range(12)) for seed in (5, 5, 6))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_no_two_photos_of_a_plate_are_alike() -> None:
    rng = np.random.default_rng(0)
    photos = [photo(plate(0), rng) for _ in range(60)]
    assert len({image.tobytes() for image in photos}) == 60
    brightness = [float(image.mean()) for image in photos]
    assert max(brightness) > 2 * min(brightness)


def test_the_plate_is_in_the_picture() -> None:
    """Red, blue and yellow plates differ in the middle of their photos, on average over light and angle."""
    rng = np.random.default_rng(1)
    middle = {}
    for colour in ("red", "blue", "yellow"):
        labels = [number for number, name in enumerate(CLASSES) if name.split("-")[1] == colour]
        middle[colour] = np.mean([image[24:40, 24:40] for image in pictures(rng, labels * 3)], axis=(0, 1, 2))
    assert middle["red"].argmax() == 2
    assert middle["blue"].argmax() == 0
    assert middle["yellow"].argmin() == 0


def test_labels_beyond_the_classes_are_refused() -> None:
    with pytest.raises(IndexError):
        pictures(np.random.default_rng(0), [len(CLASSES)])
