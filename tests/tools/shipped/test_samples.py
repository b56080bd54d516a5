"""Pictures and their names become targets; clips and photos are cut as they should be."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.common.tensors import Image
from tools.shipped.samples import Samples, cifar, corners, ghosts, movers, pairs, pieces, usual

CLASSES = ("car", "truck", "bus", "other")


def _grey(width: int = 100, height: int = 100, level: int = 90) -> Image:
    return np.full((height, width, 3), level, np.uint8)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("car", [1, 0, 0, 0]),
        ("truck|bus", [0, 0.5, 0.5, 0]),
        ("person", [0, 0, 0, 1]),
        ("other", [0, 0, 0, 1]),
    ],
)
def test_names_become_targets(name: str, target: list[float]) -> None:
    samples = Samples.of([(_grey(), name)], CLASSES)
    assert samples.targets.tolist() == [target]


def test_no_pictures_are_no_targets() -> None:
    samples = Samples.of([], CLASSES)
    assert len(samples) == 0
    assert samples.targets.shape == (0, 4)


@given(st.lists(st.sampled_from(["car", "truck", "truck|bus", "cat"]), min_size=1, max_size=40))
def test_every_different_target_has_the_same_chance(names: list[str]) -> None:
    chances = Samples.of([(_grey(), name) for name in names], CLASSES).chances
    assert chances.sum() == pytest.approx(1)
    for name in set(names):
        assert chances[[each == name for each in names]].sum() == pytest.approx(1 / len(set(names)))


def test_joined_samples_are_drawn_by_their_shares() -> None:
    first = Samples.of([(_grey(), "car"), (_grey(), "car"), (_grey(), "truck")], CLASSES)
    second = Samples.of([(_grey(), "truck")], CLASSES)
    joined = Samples.joined([(first, 0.3), (Samples.of([], CLASSES), 0.4), (second, 0.1)])
    assert joined.targets.argmax(axis=1).tolist() == [0, 0, 1, 1]
    assert joined.chances.tolist() == pytest.approx([0.1875, 0.1875, 0.375, 0.25])


def test_a_camera_with_four_times_the_pictures_of_a_class_has_twice_the_share() -> None:
    named = [(_grey(), "car")] * 5 + [(_grey(), "truck")]
    chances = Samples.of(named, CLASSES, cameras=["a", "a", "a", "a", "b", "a"]).chances
    assert chances[:4].sum() == pytest.approx(2 * chances[4])
    assert chances[5] == pytest.approx(0.5)


def test_ghosts_have_the_ground_where_the_vehicle_was() -> None:
    image = _grey(80, 60)
    image[10:50, 12:68] = (250, 20, 20)
    (ghost, name), *_ = ghosts([(image, "car")], 3, np.random.default_rng(0))
    assert name == "other"
    assert ghost.shape == image.shape
    assert np.abs(ghost.astype(int) - 90).max() <= 8
    assert image[30, 40, 0] == 250


def test_two_vehicles_side_by_side_are_no_vehicle() -> None:
    (both, name), *_ = pairs([(_grey(80, 40, 60), "car"), (_grey(40, 60, 60), "bus")], 4, np.random.default_rng(0))
    assert name == "other"
    assert 40 <= both.shape[0] <= 60
    assert both.shape[1] > both.shape[0]


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


def _with_box(left: int, top: int, right: int, bottom: int) -> Image:
    scene = _grey(320, 240)
    cv2.rectangle(scene, (left, top), (right - 1, bottom - 1), (250, 20, 20), -1)
    return scene


def test_movers_cuts_out_what_is_not_in_the_empty_scene() -> None:
    clip = [_with_box(100, 60, 140, 180), _with_box(10, 10, 20, 25), _grey(320, 240)]
    ((piece, name),) = movers(clip, _grey(320, 240), "person", upright=True)
    assert name == "person"
    assert abs(piece.shape[0] - 120) <= 10
    assert abs(piece.shape[1] - 40) <= 10


@pytest.mark.parametrize(("upright", "count"), [(True, 0), (False, 1)])
def test_movers_may_be_wanted_upright(upright: bool, count: int) -> None:
    lying = [_with_box(60, 100, 200, 150)]
    assert len(movers(lying, _grey(320, 240), "car", upright)) == count


def test_the_usual_scene_is_without_what_passes() -> None:
    clip = [_with_box(10 * i, 60, 10 * i + 40, 180) for i in range(25)]
    assert np.array_equal(usual(clip), _grey(320, 240))


def test_pieces_lie_inside_the_frame() -> None:
    found = pieces([_grey(200, 50)], 40, np.random.default_rng(1))
    assert len(found) == 40
    assert all(name == "other" and 0 < piece.shape[0] <= 50 and 10 <= piece.shape[1] <= 60 for piece, name in found)


def test_cifar_gives_what_is_no_vehicle(tmp_path: Path) -> None:
    encoded = [cv2.imencode(".jpg", _grey(32, 32, level))[1].ravel() for level in (10, 200, 60)]
    offsets = np.cumsum([0, *(len(data) for data in encoded)])
    path = tmp_path / "cifar.npz"
    np.savez(
        path, jpeg=np.concatenate(encoded), offsets=offsets, labels=[2, 0, 1], classes=["automobile", "truck", "cat"]
    )
    named = cifar(path, per_class=5)
    assert [name for _, name in named] == ["other"]
    assert [round(float(image.mean()), -1) for image, _ in named] == [10]
