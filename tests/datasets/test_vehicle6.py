"""The vehicle photos: a split that never moves, bounded decoding, and a fetch that keeps only the right content."""

from __future__ import annotations

import io
import struct
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets import archive, vehicle6
from datasets.archive import Bounds, DataError


def jpeg(shade: int, side: int = 100) -> bytes:
    return cv2.imencode(".jpg", np.full((side, side, 3), shade, np.uint8))[1].tobytes()


PHOTOS = {f"{label}/{label}{number}.jpg": jpeg(30 * number) for label in vehicle6.CLASSES for number in (1, 2, 3)}


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return file.getvalue()


def written(folder: Path, members: dict[str, bytes]) -> Path:
    for name, content in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def content(tmp_path: Path) -> str:
    """The digest of PHOTOS."""
    return vehicle6.content_sha256(written(tmp_path / "expected", PHOTOS))


# The split


def test_the_split_is_fixed() -> None:
    splits = [vehicle6.split_of(f"car/car{number}.jpg") for number in range(1, 8)]
    assert splits == ["train", "validation", "train", "train", "test", "test", "test"]


def test_shares_of_the_split() -> None:
    names = [f"{label}/{label}{number}.jpg" for label in vehicle6.CLASSES for number in range(1, 801)]
    counts = Counter(map(vehicle6.split_of, names))
    assert counts["train"] / 4800 == pytest.approx(0.70, abs=0.02)
    assert counts["validation"] / 4800 == pytest.approx(0.15, abs=0.02)
    assert counts["test"] / 4800 == pytest.approx(0.15, abs=0.02)


def test_every_photo_is_in_one_split(tmp_path: Path) -> None:
    folder = written(tmp_path / "photos", PHOTOS)
    loaded = [item for split in vehicle6.SPLITS for item in vehicle6.load(folder, split)]
    assert Counter(label for _, label in loaded) == dict.fromkeys(vehicle6.CLASSES, 3)
    assert {image.shape for image, _ in loaded} == {(100, 100, 3)}


def test_an_unknown_split_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="split 'dev': must be one of train, validation, test"):
        vehicle6.load(tmp_path, "dev")


@pytest.mark.data
def test_the_real_photos(data_dir: Path) -> None:
    folder = data_dir / "images" / "vehicle6"
    assert vehicle6.ensure(folder) == folder
    assert vehicle6.content_sha256(folder) == vehicle6.CONTENT_SHA256
    held_out = vehicle6.load(folder, "test")
    assert len(held_out) == 733
    assert {label for _, label in held_out} == set(vehicle6.CLASSES)


# Decoding


def test_a_folder_that_is_not_the_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no vehicle photos"):
        vehicle6.load(tmp_path, "train")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"", "not a JPEG"),
        (b"GIF89a" * 10, "not a JPEG"),
        (jpeg(9)[:200] + b"\0" * 9, "not a JPEG|damaged"),
        (jpeg(9, 600), "at most 512"),
        (jpeg(9).replace(struct.pack(">HH", 100, 100), struct.pack(">HH", 65500, 65500)), "at most 512"),
        (jpeg(9) + b"\0" * 300_000, "larger than"),
    ],
    ids=["empty", "gif", "cut", "large", "bomb", "long"],
)
def test_a_bad_photo_is_refused_before_it_is_decoded(tmp_path: Path, bad: bytes, says: str) -> None:
    path = tmp_path / "car1.jpg"
    path.write_bytes(bad)
    with pytest.raises(DataError, match=says):
        vehicle6.decode(path)


def test_the_size_is_read_from_the_header() -> None:
    assert vehicle6.jpeg_size(cv2.imencode(".jpg", np.zeros((30, 70, 3), np.uint8))[1].tobytes()) == (70, 30)


# Fetching


@pytest.mark.parametrize(
    "members",
    [
        PHOTOS,
        {f"Vehicles v2/data/{name}": photo for name, photo in PHOTOS.items()} | {"README.txt": b"hello"},
        {"vehicles.zip": zipped(PHOTOS)},
    ],
    ids=["plain", "in folders", "zip in zip"],
)
def test_an_absent_folder_is_fetched(
    served: tuple[Path, str], content: str, tmp_path: Path, members: dict[str, bytes]
) -> None:
    (served[0] / "a.zip").write_bytes(zipped(members))
    folder = vehicle6.ensure(tmp_path / "new" / "vehicle6", f"{served[1]}/a.zip", content)
    assert vehicle6.content_sha256(folder) == content
    assert len(vehicle6.names(folder)) == len(PHOTOS)
    assert [path.name for path in folder.parent.iterdir()] == ["vehicle6"]


def test_a_folder_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    folder = written(tmp_path / "photos", PHOTOS)
    assert vehicle6.ensure(folder, "http://127.0.0.1:9/never") == folder


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (zipped(PHOTOS | {"car/car1.jpg": jpeg(200)}), "unexpected content"),
        (zipped({name: photo for name, photo in PHOTOS.items() if "bike2" not in name}), "unexpected content"),
        (zipped({"notes.txt": b"nothing here"}), "no vehicle photos"),
        (b"<html>not found</html>", "not a readable zip"),
        (zipped(PHOTOS)[:-300], "not a readable zip"),
        (zipped(PHOTOS | {"again/car1.jpg": jpeg(1)}), "two files"),
        (zipped(PHOTOS | {"car/car4.jpg": b"\xff" * 300_000}), "larger than"),
        (zipped(PHOTOS).replace(PHOTOS["car/car1.jpg"][30:60], b"?" * 30), "not a readable zip"),
    ],
    ids=["changed", "missing", "other", "html", "cut", "twice", "too large", "damaged"],
)
def test_wrong_content_leaves_nothing_behind(
    served: tuple[Path, str], content: str, tmp_path: Path, payload: bytes, says: str
) -> None:
    (served[0] / "a.zip").write_bytes(payload)
    folder = tmp_path / "data" / "vehicle6"
    with pytest.raises(DataError, match=says):
        vehicle6.ensure(folder, f"{served[1]}/a.zip", content)
    assert not folder.exists()
    assert not list(folder.parent.glob("*"))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/a.zip", "a.zip"])
def test_only_http_is_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="must begin with http"):
        vehicle6.ensure(tmp_path / "vehicle6", url)


def test_a_server_without_the_file_is_named(served: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.zip: cannot be fetched"):
        vehicle6.ensure(tmp_path / "vehicle6", f"{served[1]}/absent.zip")


@pytest.mark.parametrize(
    "name", ["../car1.jpg", "/etc/car1.jpg", "..\\..\\car1.jpg", "C:\\car1.jpg", "a/../../b/car1.jpg"]
)
def test_no_member_leaves_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in" / "side"
    archive.unpack(io.BytesIO(zipped({name: jpeg(5)})), folder, vehicle6.place, vehicle6.BOUNDS)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()] == [
        "in/side/car/car1.jpg"
    ]


@pytest.mark.parametrize(
    "name", ["car0.jpg", "car801.jpg", "car1.png", "tank1.jpg", "car1.jpg.exe", "car/", "Car1.jpg"]
)
def test_other_members_are_left_out(name: str) -> None:
    assert vehicle6.place(name) is None


def test_an_archive_that_unpacks_to_too_much_is_stopped(tmp_path: Path) -> None:
    bomb = zipped({f"car{number}.jpg": b"\0" * 1000 for number in range(1, 100)})
    with pytest.raises(DataError, match="refused"):
        archive.unpack(io.BytesIO(bomb), tmp_path, vehicle6.place, Bounds(10**6, 10**4, 5000))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.jpg")) <= 5000


def test_a_download_that_never_ends_is_stopped(served: tuple[Path, str]) -> None:
    (served[0] / "a.zip").write_bytes(b"\0" * 10_000)
    with pytest.raises(DataError, match="larger than 5000 bytes"), archive.fetched(f"{served[1]}/a.zip", 5000):
        pass
