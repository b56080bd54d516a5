"""No camera, or at least no track, is both learnt from and measured on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialization.kit.crops import CropOrigin
from specialization.kit.head import FOLDS, divided, fitted, held_out_scores


def places(*names: str) -> list[CropOrigin]:
    return [CropOrigin.of(name) for name in names]


@pytest.mark.parametrize(
    ("name", "camera", "track"),
    [
        ("yard_17_003.jpg", "yard", "yard_17"),
        ("yard_r1-17_left_003.jpg", "yard", "yard_r1-17_left"),
        ("yard_17.jpg", "", ""),
        ("IMG0001.jpg", "", ""),
        ("__.jpg", "", "_"),
    ],
)
def test_names_tell_camera_and_track_or_nothing(name: str, camera: str, track: str) -> None:
    assert CropOrigin.of(name) == (camera, track)


@pytest.mark.parametrize("cameras", [3, 4, 5])
def test_where_every_class_is_seen_by_several_cameras_no_camera_is_in_two_folds(cameras: int) -> None:
    shown = product(range(cameras), range(6), range(3))
    names = [f"cam{camera}_{track}_{number}.jpg" for camera, track, number in shown]
    labels = np.arange(len(names)) // 3 % 2
    folds = divided(labels, places(*names))
    assert folds.unit == "camera"
    assert sorted(set(folds.fold.tolist())) == list(range(min(cameras, FOLDS)))
    for camera in range(cameras):
        assert len({int(fold) for fold, name in zip(folds.fold, names, strict=True) if f"cam{camera}_" in name}) == 1


@pytest.mark.parametrize(("cameras", "tracks", "unit"), [(2, 6, "track"), (1, 3, "track"), (1, 2, "run")])
def test_with_fewer_than_three_cameras_or_tracks_what_is_smaller_is_held_out(
    cameras: int, tracks: int, unit: str
) -> None:
    shown = product(range(cameras), range(tracks), range(12))
    names = [f"cam{camera}_{track}_{number}.jpg" for camera, track, number in shown]
    assert divided(np.arange(len(names)) % 2, places(*names)).unit == unit


def test_scores_of_three_cameras_are_of_heads_that_have_not_seen_them() -> None:
    rng, cameras = np.random.default_rng(0), np.arange(36) // 12
    labels = np.arange(36) % 2
    rows = rng.normal(labels[:, None] * 4, 0.1, (36, 3)).astype(np.float32)
    rows[cameras == 2] *= -1
    folds = divided(labels, places(*(f"cam{camera}_{number}_0.jpg" for number, camera in enumerate(cameras))))
    found = held_out_scores(rows[:, None], labels, folds, 2).argmax(axis=1)
    assert (found == labels)[cameras == 2].mean() < 0.6
    assert (fitted(rows[:, None], labels, 2)[0].shape, len(np.unique(folds.fold))) == ((3, 2), 3)


def test_a_class_that_one_camera_alone_has_seen_is_divided_by_track() -> None:
    names = [f"cam{track % 3}_{track}_{number}.jpg" for track in range(30) for number in range(4)]
    labels = np.array([int("cam0_" in name) for name in names])
    folds = divided(labels, places(*names))
    assert folds.unit == "track"
    assert all(len(set(folds.fold[start : start + 4].tolist())) == 1 for start in range(0, len(names), 4))


def test_names_that_tell_nothing_are_divided_into_runs_of_neighbours_of_each_class() -> None:
    labels = np.repeat([0, 1], [40, 12])
    folds = divided(labels, places(*(f"IMG{number}.jpg" for number in range(52))))
    assert folds.unit == "run"
    assert folds.fold.tolist() == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10 + [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 8)), min_size=24, max_size=120))
def test_what_is_measured_was_never_learnt_from_and_every_class_is_learnt_in_every_fold(
    drawn: list[tuple[int, int, int]],
) -> None:
    rows = sorted([*drawn, *((label, camera, label) for label in range(4) for camera in range(12))])
    labels = np.array([label for label, _, _ in rows])
    names = [f"c{camera}_{track}_{at}.jpg" for at, (_, camera, track) in enumerate(rows)]
    folds = divided(labels, places(*names))
    assert folds.unit in ("camera", "track")
    keys = [getattr(place, folds.unit) for place in places(*names)]
    homes: dict[str, set[int]] = {}
    for key, fold in zip(keys, folds.fold.tolist(), strict=True):
        homes.setdefault(key, set()).add(fold)
    assert all(len(home) == 1 for home in homes.values())
    for fold in range(FOLDS):
        assert set(labels[folds.learnt(fold)].tolist()) == {0, 1, 2, 3}
        assert not folds.learnt(fold).all()
