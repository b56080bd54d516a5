"""Crops of street cameras: whose they are, what corrections do, and bounds on what is decoded."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets import camera_crops
from datasets.archive import DataError
from datasets.camera_crops import CREDITS, cameras, corrected, read, read_corrections


def jpeg(width: int = 40, height: int = 30) -> bytes:
    return cv2.imencode(".jpg", np.full((height, width, 3), 90, np.uint8))[1].tobytes()


def packed(folder: Path, source: str, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / f"{source}.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return folder


def test_crops_have_their_label_source_and_camera(tmp_path: Path) -> None:
    packed(tmp_path, "vietnam_cctv", {"car/cam01_n5_0.jpg": jpeg(), "bus/cam02_n1_0.jpg": jpeg(), "README.txt": b""})
    packed(tmp_path, "road_clip", {"van/clip_1_2.jpg": jpeg()})
    crops = read(tmp_path, ("vietnam_cctv", "road_clip"))
    assert [(crop.label, crop.source, crop.camera) for crop in crops] == [
        ("bus", "vietnam_cctv", "cam02"),
        ("car", "vietnam_cctv", "cam01"),
        ("van", "road_clip", "road_clip"),
    ]
    assert crops[0].image.shape == (30, 40, 3)
    assert cameras(crops) == ["cam01", "cam02", "road_clip"]


def test_corrections_rename_crops_and_leave_out_those_without_a_label(tmp_path: Path) -> None:
    packed(tmp_path, "road_clip", {f"van/clip_{number}.jpg": jpeg() for number in range(3)})
    (tmp_path / "seen.csv").write_text("crop,label\nroad_clip/clip_0.jpg,truck\nroad_clip/clip_2.jpg,\n")
    crops = corrected(read(tmp_path, ("road_clip",)), read_corrections(tmp_path / "seen.csv"))
    assert [(crop.name, crop.label) for crop in crops] == [("clip_0.jpg", "truck"), ("clip_1.jpg", "van")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (jpeg(2000, 8), "not a JPEG of at most"),
        (b"GIF89a", "not a JPEG of at most"),
        (jpeg()[:200] + bytes(300_000), "larger than 262144 bytes"),
    ],
)
def test_a_crop_that_is_none_is_refused_by_name(content: bytes, reason: str, tmp_path: Path) -> None:
    packed(tmp_path, "road_clip", {"van/clip_7.jpg": content})
    with pytest.raises(DataError, match=rf"road_clip\.zip: van/clip_7\.jpg: {reason}"):
        read(tmp_path, ("road_clip",))


def test_too_many_crops_are_refused_before_any_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_crops, "MOST_CROPS", 2)
    packed(tmp_path, "road_clip", {f"van/clip_{number}.jpg": b"" for number in range(3)})
    with pytest.raises(DataError, match="more than 2 crops"):
        read(tmp_path, ("road_clip",))


def test_what_is_no_zip_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "road_clip.zip").write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"road_clip\.zip: cannot be read as a zip"):
        read(tmp_path, ("road_clip",))
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "nowhere", ("road_clip",))


@pytest.mark.data
def test_the_sample_data_has_every_source_that_is_named(data_dir: Path) -> None:
    crops = read(data_dir / "crops")
    assert Counter(crop.source for crop in crops) == {"vietnam_cctv": 5555, "nepal_street": 4611, "road_clip": 925}
    assert set(CREDITS) == {crop.source for crop in crops}
    assert len(cameras(crops)) == 12
    assert len({(crop.source, crop.name) for crop in crops}) == len(crops)
