"""A store is read as it was written, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learning.store import FeatureStore, write_store
from serving.errors import BadInput, ModelError
from tests.learning.stores import samples


def test_what_is_written_is_read(tmp_path: Path) -> None:
    features, labels = samples(50)
    write_store(tmp_path / "store", features, labels)
    store = FeatureStore.open(tmp_path / "store")
    assert (store.features.dtype, store.labels.dtype) == (np.float16, np.int32)
    np.testing.assert_array_equal(store.labels, labels)
    np.testing.assert_allclose(store.features, features, atol=0.01)
    assert isinstance(store.features, np.memmap)


def test_features_too_large_for_half_precision_are_bounded(tmp_path: Path) -> None:
    write_store(tmp_path, np.array([[1e9, -1e9]]), np.array([0]))
    assert np.isfinite(FeatureStore.open(tmp_path).features).all()


def test_a_store_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_store(tmp_path, *samples(50))
    write_store(tmp_path, *samples(20))
    assert len(FeatureStore.open(tmp_path).labels) == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features.npy", "labels.npy"]


def test_features_and_labels_must_belong_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not belong together"):
        write_store(tmp_path, np.zeros((3, 2)), np.zeros(4))


def _damage_cut(directory: Path) -> None:
    path = directory / "features.npy"
    path.write_bytes(path.read_bytes()[:-10])


def _damage_pickle(directory: Path) -> None:
    np.save(directory / "labels.npy", np.array([{}], object), allow_pickle=True)


def _damage_empty(directory: Path) -> None:
    (directory / "features.npy").write_bytes(b"")


def _damage_type(directory: Path) -> None:
    np.save(directory / "features.npy", np.zeros((50, 12)))


def _damage_rows(directory: Path) -> None:
    np.save(directory / "labels.npy", np.zeros(49, np.int32))


def _damage_label(directory: Path) -> None:
    np.save(directory / "labels.npy", np.full(50, -3, np.int32))


def _damage_numbers(directory: Path) -> None:
    np.save(directory / "features.npy", np.full((50, 12), np.nan, np.float16))


def _damage_missing(directory: Path) -> None:
    (directory / "labels.npy").unlink()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (_damage_cut, "damaged"),
        (_damage_pickle, "damaged"),
        (_damage_empty, "damaged"),
        (_damage_type, "not 2-dimensional float16"),
        (_damage_rows, "50 rows of features but 49 labels"),
        (_damage_label, "must not be negative"),
        (_damage_numbers, "no numbers"),
        (_damage_missing, "is missing"),
    ],
)
def test_damaged_stores_are_refused_in_one_line(damage: object, problem: str, tmp_path: Path) -> None:
    write_store(tmp_path, *samples(50))
    damage(tmp_path)  # type: ignore[operator]
    with pytest.raises(ModelError, match=problem) as caught:
        FeatureStore.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_store_larger_than_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path, *samples(50))
    monkeypatch.setattr("learning.array_files.MOST_BYTES", 1000)
    with pytest.raises(ModelError, match="at most"):
        FeatureStore.open(tmp_path)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written"):
        write_store(tmp_path / "file", *samples(50))
