from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from datasets import street
from datasets.video import write_mp4
from pipelines.measure import pictures as profile_data
from pipelines.measure.pictures import PreparedPictures, gather
from serving.catalogue.cards import ModelCard, parse_card
from serving.errors import BadInput

COLOURS = {"red": (0, 0, 255), "green": (0, 255, 0), "blue": (255, 0, 0)}


def card(**changes: Any) -> ModelCard:
    raw = {
        "name": "m", "version": "1", "task": "classify", "file": "m.onnx", "sha256": "0" * 64, "licence": "x",
        "source": "x", "input": {"width": 4, "height": 4, "colour": "bgr"}, "classes": ["blue", "green", "red"],
    }  # fmt: skip
    return parse_card({**raw, **changes}, "card")


def folders(root: Path, count: int = 6, **more: tuple[int, int, int]) -> Path:
    for name, colour in {**COLOURS, **more}.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            image = np.full((9, 9, 3), colour, np.uint8) - np.uint8(3) * number * (np.array(colour) > 0).astype(
                np.uint8
            )
            cv2.imwrite(str(root / name / f"{number}.png"), image)
    return root


def said(data: PreparedPictures) -> list[float]:
    """Whether each answer of a network that is always right counts as right."""
    assert data.pictures.right is not None
    means = data.pictures.items.mean(axis=(2, 3))
    return [float(share) for share in data.pictures.right([means])]


def test_folders_of_classes_are_labels_and_halves_do_not_overlap(tmp_path: Path) -> None:
    data = gather(card(), folders(tmp_path / "pets"))
    assert (len(data.calibration), len(data.pictures.items)) == (9, 9)
    assert said(data) == [1.0] * 9
    both = {item.tobytes() for item in [*data.calibration, *data.pictures.items]}
    assert len(both) == 18
    assert data.pictures.data == "pets"


def test_the_same_pictures_give_the_same_halves(tmp_path: Path) -> None:
    folder = folders(tmp_path)
    first, second = gather(card(), folder), gather(card(), folder)
    np.testing.assert_array_equal(first.calibration, second.calibration)
    assert first.pictures.data_sha256 == second.pictures.data_sha256
    (folder / "red" / "0.png").unlink()
    assert gather(card(), folder).pictures.data_sha256 != first.pictures.data_sha256


def test_unknown_folders_are_the_other_class_or_left_out(tmp_path: Path) -> None:
    folder = folders(tmp_path, grey=(9, 9, 9))
    assert len(gather(card(), folder).calibration) == 9
    other = card(classes=["blue", "green", "red", "rest"], other_label="rest")
    data = gather(other, folder)
    assert len(data.calibration) + len(data.pictures.items) == 24
    assert data.pictures.right is not None


def test_types_of_vehicles_are_vehicles(tmp_path: Path) -> None:
    for name in ("car", "bike"):
        (tmp_path / name).mkdir()
        for number in range(4):
            cv2.imwrite(str(tmp_path / name / f"{number}.jpg"), np.zeros((9, 9, 3), np.uint8))
    data = gather(card(classes=["person", "vehicle"]), tmp_path)
    assert data.pictures.right is not None
    assert data.pictures.right([np.tile([0.0, 1.0], (4, 1))]).tolist() == [1.0] * 4


def test_the_words_of_drawn_streets_are_known() -> None:
    assert (profile_data.VEHICLES, profile_data.TYPES) == (street.VEHICLES, street.TYPES)


def test_pictures_without_folders_and_folders_that_are_no_class_have_no_labels(tmp_path: Path) -> None:
    folders(tmp_path / "a")
    assert gather(card(), tmp_path / "a" / "red").pictures.right is None
    assert gather(card(classes=["cat", "dog"]), tmp_path / "a").pictures.right is None


def test_an_embedder_is_right_where_the_neighbour_is_from_the_same_folder(tmp_path: Path) -> None:
    data = gather(card(task="embed", classes=[]), folders(tmp_path))
    assert data.pictures.right is not None
    assert data.pictures.right([data.pictures.items.mean(axis=(2, 3))]).mean() == 1.0


def test_frames_of_a_video(tmp_path: Path) -> None:
    frames = [np.full((32, 32, 3), 20 * number, np.uint8) for number in range(12)]
    write_mp4(tmp_path / "clip.mp4", frames, fps=2)
    data = gather(card(), tmp_path / "clip.mp4")
    assert len(data.calibration) + len(data.pictures.items) == 6
    assert data.pictures.right is None


def test_at_most_so_many_pictures_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_data, "MOST", 8)
    data = gather(card(), folders(tmp_path))
    assert len(data.calibration) == len(data.pictures.items) == 4


def test_without_data_a_street_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_data, "MOST_DRAWN", 16)
    profile_data._crops.cache_clear()
    data = gather(card(classes=["person", "vehicle", "other"], other_label="other"), None)
    profile_data._crops.cache_clear()
    assert len(data.pictures.items) == 8
    assert data.pictures.right is not None
    assert "seed 2000003" in data.pictures.data


def test_a_detector_gets_whole_frames_of_the_street(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_data, "MOST_FRAMES", 4)
    data = gather(card(task="detect", decoding={"kind": "ssd"}), None)
    assert len(data.calibration) == len(data.pictures.items) == 2
    assert data.pictures.right is None


@pytest.mark.parametrize("what", ["nothing", "empty", "few"])
def test_data_that_cannot_be_used_is_one_line(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()
    folders(tmp_path / "few", count=1)
    with pytest.raises(BadInput, match=r"no such folder or video|too few to calibrate"):
        gather(card(), tmp_path / what)


def test_pictures_beside_a_folder_of_something_else_are_read(tmp_path: Path) -> None:
    folder = folders(tmp_path) / "red"
    (folder / "labels").mkdir()
    (folder / "labels" / "0.txt").write_text("0 .5 .5 .1 .1")
    data = gather(card(), folder)
    assert len(data.calibration) + len(data.pictures.items) == 6


def test_a_folder_in_which_no_pictures_are_found_is_told_where_they_belong(tmp_path: Path) -> None:
    folders(tmp_path / "deep" / "down")
    with pytest.raises(BadInput, match=r"deep itself, or into one folder for each class there; deeper"):
        gather(card(), tmp_path / "deep")


def test_a_damaged_picture_is_named(tmp_path: Path) -> None:
    (folders(tmp_path) / "red" / "1.png").write_bytes(b"no picture")
    with pytest.raises(BadInput, match=r"1\.png"):
        gather(card(), tmp_path)
