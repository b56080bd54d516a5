"""A user's folder of crops is checked before anything is learnt from it; what is wrong is one line."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from pipelines.measure import labelled_crops as room
from pipelines.measure.labelled_crops import LEAST_CROPS, MOST_WIDTH, labelled_crops
from serving.errors import BadInput


def picture(seed: int, width: int = 24, height: int = 20) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return bytes(cv2.imencode(".png", pixels)[1])


def fill(folder: Path, count: int = LEAST_CROPS, first: int = 0) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"yard_{number}_0.png").write_bytes(picture(first + number))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes."""
    fill(tmp_path / "crops" / "car")
    fill(tmp_path / "crops" / "bus", first=1000)
    return tmp_path / "crops"


def test_classes_are_the_folders_and_pictures_come_in_their_order(folder: Path) -> None:
    crops = labelled_crops(folder)
    assert crops.classes == ["bus", "car"]
    assert crops.labels == [0] * LEAST_CROPS + [1] * LEAST_CROPS
    assert crops.words == "crops of crops"
    assert crops.notes == []
    assert [place.track for place in crops.places[:2]] == ["yard_0", "yard_1"]
    images = list(crops.images)
    assert len(images) == 2 * LEAST_CROPS
    assert np.array_equal(images[LEAST_CROPS], cv2.imdecode(np.frombuffer(picture(0), np.uint8), cv2.IMREAD_COLOR))


def test_what_is_no_picture_or_there_twice_is_passed_over_with_a_note(folder: Path) -> None:
    (folder / "car" / "broken.jpg").write_bytes(b"\xff\xd8 not a jpeg")
    (folder / "car" / "empty.png").write_bytes(b"")
    (folder / "car" / "playlist.jpg").write_text("#EXTM3U\nfile:///etc/passwd\n", encoding="utf-8")
    (folder / "car" / "notes.txt").write_text("not looked at", encoding="utf-8")
    (folder / "car" / "zz.png").write_bytes(picture(3))
    (folder / "car" / "bus.png").write_bytes(picture(1003))
    (folder / "car" / "far.png").symlink_to(folder / "bus" / "yard_0_0.png")
    crops = labelled_crops(folder)
    assert len(crops.labels) == 2 * LEAST_CROPS
    assert sorted(crops.notes) == [
        "car/broken.jpg is passed over: not an image, damaged, animated, or above 64 megapixels",
        "car/bus.png is passed over: the same picture is in bus",
        "car/empty.png is passed over: the file is empty",
        "car/playlist.jpg is passed over: not an image, damaged, animated, or above 64 megapixels",
        "car/zz.png is passed over: it is there twice",
    ]


def test_a_huge_picture_is_shrunk_and_a_monstrous_one_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "car" / "wide.png").write_bytes(picture(5, 2000, 40))
    crops = labelled_crops(folder)
    assert max(image.shape[1] for image in crops.images) == MOST_WIDTH
    monkeypatch.setattr(room, "LARGEST_BYTES", 5000)
    assert labelled_crops(folder).notes == [
        f"car/wide.png is passed over: {(folder / 'car' / 'wide.png').stat().st_size} bytes are too many"
    ]


def test_hidden_folders_links_and_what_nobody_has_named_are_no_classes(folder: Path, tmp_path: Path) -> None:
    fill(folder / ".cache", first=2000)
    fill(folder / "unknown", first=3000)
    fill(tmp_path / "elsewhere", first=4000)
    (folder / "van").symlink_to(tmp_path / "elsewhere")
    (folder / "empty").mkdir()
    assert labelled_crops(folder).classes == ["bus", "car"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder.rename(folder.with_name("gone")), r"crops: no such folder$"),
        (lambda folder: _flatten(folder), r"no pictures in folders of"),
        (lambda folder: _remove(folder / "bus"), r"one class alone, car: put what it is not into 'other'$"),
        (lambda folder: _thin(folder / "bus", 3), r"too few pictures that can be read in bus \(3\): 12 of each class"),
        (lambda folder: _break(folder / "bus"), r"too few pictures that can be read in bus \(0\): 12 of each class"),
        (lambda folder: fill(folder / "va\x1b[2Jn", first=5000), r"'va\\x1b\[2Jn' cannot be a class: give the folder"),
        (lambda folder: fill(folder / "van ", first=5000), r"'van ' cannot be a class: give the folder a plain name$"),
        (lambda folder: fill(folder / "Bus", first=5000), r"'Bus' and 'bus' are one word, written in two ways: join"),
        (lambda folder: fill(folder / ("v" * 65), first=5000), r"cannot be a class: give the folder a plain name$"),
    ],
    ids=["no folder", "no classes", "one class", "too few", "unreadable", "escape", "blank", "capitals", "long name"],
)  # fmt: skip
def test_what_no_recogniser_can_be_made_of_is_told_in_one_line(folder: Path, make: object, message: str) -> None:
    assert callable(make)
    make(folder)
    with pytest.raises(BadInput, match=message) as told:
        labelled_crops(folder)
    assert "\n" not in str(told.value)


def _flatten(folder: Path) -> None:
    for path in list(folder.glob("*/*.png")):
        path.rename(folder / f"{path.parent.name}-{path.name}")


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _thin(folder: Path, count: int) -> None:
    for path in sorted(folder.iterdir())[count:]:
        path.unlink()


def _break(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(b"not a picture")


def test_names_in_other_scripts_are_classes(folder: Path) -> None:
    fill(folder / "xe tải 🚚", first=6000)
    assert labelled_crops(folder).classes == ["bus", "car", "xe tải 🚚"]


def test_unbalanced_classes_get_a_note(folder: Path) -> None:
    fill(folder / "van", 21 * LEAST_CROPS, first=7000)
    (note,) = labelled_crops(folder).notes
    assert note.startswith("252 crops of van, but 12 of ")


def test_of_too_many_crops_those_of_the_largest_classes_are_thinned(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder / "van", 60, first=8000)
    monkeypatch.setattr(room, "MOST_CROPS", 50)
    crops = labelled_crops(folder)
    assert len(crops.labels) <= 50
    assert [crops.labels.count(number) for number in (0, 1)] == [LEAST_CROPS, LEAST_CROPS]
    assert crops.places[-1].track in {f"yard_{number}" for number in range(50, 60)}


def test_too_many_classes_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_CLASSES", 1)
    with pytest.raises(BadInput, match="2 classes are too many: 1 are the most"):
        labelled_crops(folder)


def test_a_picture_that_goes_meanwhile_is_told(folder: Path) -> None:
    crops = labelled_crops(folder)
    (folder / "bus" / "yard_0_0.png").unlink()
    with pytest.raises(BadInput, match="cannot be read any more"):
        list(crops.images)
