"""Pictures and their names become targets; clips and photos are cut as they should be."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from specialization.samples import Image, Samples, cifar, corners, movers, pieces

CLASSES = ("car", "truck", "juggernaut", "other")


def _grey(width: int = 100, height: int = 100, level: int = 90) -> Image:
    return np.full((height, width, 3), level, np.uint8)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("car", [1, 0, 0, 0]),
        ("truck|juggernaut", [0, 0.5, 0.5, 0]),
        ("person", [0, 0, 0, 1]),
        ("other", [0, 0, 0, 1]),
        ("lorry", [0, 1, 0, 0]),
    ],
)
def test_names_become_targets(name: str, target: list[float]) -> None:
    samples = Samples.of([(_grey(), name)], CLASSES, {"lorry": "truck"})
    assert samples.targets.tolist() == [target]


def test_no_pictures_are_no_targets() -> None:
    samples = Samples.of([], CLASSES)
    assert len(samples) == 0
    assert samples.targets.shape == (0, 4)


def test_joined_samples_remember_where_they_came_from() -> None:
    first, second = Samples.of([(_grey(), "car")] * 2, CLASSES), Samples.of([(_grey(), "truck")], CLASSES)
    joined = Samples.joined([first, Samples.of([], CLASSES), second])
    assert joined.origins.tolist() == [0, 0, 2]
    assert joined.targets.argmax(axis=1).tolist() == [0, 0, 1]
    assert len(joined) == 3


def test_corners_are_small_touch_two_edges_and_are_other() -> None:
    image = np.arange(100 * 80 * 3, dtype=np.uint32).reshape(80, 100, 3).astype(np.uint8)
    for piece, name in corners([(image, "car")], 50, np.random.default_rng(0)):
        assert name == "other"
        assert 12 <= piece.shape[0] <= 26
        assert 15 <= piece.shape[1] <= 32
        assert any(
            np.array_equal(piece, image[rows, columns])
            for rows in (slice(0, piece.shape[0]), slice(80 - piece.shape[0], 80))
            for columns in (slice(0, piece.shape[1]), slice(100 - piece.shape[1], 100))
        )


def test_movers_cuts_out_what_was_not_in_the_first_frame() -> None:
    busy = _grey(320, 240)
    cv2.rectangle(busy, (100, 60), (139, 179), (250, 20, 20), -1)
    speck = _grey(320, 240)
    cv2.rectangle(speck, (10, 10), (20, 25), (250, 20, 20), -1)
    ((piece, name),) = movers([_grey(320, 240), busy, speck, _grey(320, 240)], "person")
    assert name == "person"
    assert abs(piece.shape[0] - 120) <= 10
    assert abs(piece.shape[1] - 40) <= 10


def test_pieces_lie_inside_the_frame() -> None:
    found = pieces([_grey(200, 50)], 40, np.random.default_rng(1))
    assert len(found) == 40
    assert all(name == "other" and 0 < piece.shape[0] <= 50 and 10 <= piece.shape[1] <= 60 for piece, name in found)


def test_cifar_names_what_is_a_vehicle(tmp_path: Path) -> None:
    encoded = [cv2.imencode(".jpg", _grey(32, 32, level))[1].ravel() for level in (10, 200, 60)]
    offsets = np.cumsum([0, *(len(data) for data in encoded)])
    path = tmp_path / "cifar.npz"
    np.savez(
        path, jpeg=np.concatenate(encoded), offsets=offsets, labels=[2, 0, 1], classes=["automobile", "truck", "cat"]
    )
    named = cifar(path, per_class=5)
    assert [name for _, name in named] == ["car", "truck|juggernaut", "other"]
    assert [round(float(image.mean()), -1) for image, _ in named] == [200, 60, 10]
