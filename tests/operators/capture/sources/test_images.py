from __future__ import annotations

import logging
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from operators.capture.sources.convert import Converter
from operators.capture.sources.images import ImageReader, decode_image
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError


def encoded(suffix: str, level: int = 100) -> bytes:
    image = np.full((48, 64, 3), (level, 120, 60), np.uint8)
    return bytes(cv2.imencode(suffix, image)[1].tobytes())


def with_size(jpeg: bytes, width: int, height: int) -> bytes:
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", height, width) + jpeg[at + 4 :]


def png_with_size(png: bytes, width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">II", width, height) + png[24:29]
    return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]


def open_folder(path: Path, sampling: Sampling | None = None) -> ImageReader:
    return ImageReader(SourceUri(str(path)), sampling or Sampling())


def with_exif(jpeg: bytes, orientation: int) -> bytes:
    """As cameras and phones write them; the tag is the only one."""
    tags = struct.pack(">H HHIHH I", 1, 0x112, 3, 1, orientation, 0, 0)
    exif = b"Exif\0\0MM\0*\0\0\0\x08" + tags
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[2:]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_as_its_exif_says(orientation: int) -> None:
    image = np.zeros((48, 64, 3), np.uint8)
    image[:16, :16], image[:16, 48:] = 250, 120
    photograph = with_exif(bytes(cv2.imencode(".jpg", image)[1].tobytes()), orientation)
    wanted = cv2.imdecode(np.frombuffer(photograph, np.uint8), cv2.IMREAD_COLOR)
    assert np.abs(decode_image(photograph, Converter(None)).astype(int) - wanted).max() <= 4


def test_natural_order_and_times(tmp_path: Path) -> None:
    for number in (10, 9, 1, 100):
        (tmp_path / f"frame{number}.jpg").write_bytes(encoded(".jpg", level=number))
    (tmp_path / "notes.txt").write_text("not an image")
    pictures = list(open_folder(tmp_path).pictures())
    levels = [int(picture.image[0, 0, 0]) for picture in pictures]
    assert levels == pytest.approx([1, 9, 10, 100], abs=4)
    assert [picture.media_time_s for picture in pictures] == pytest.approx([0, 0.1, 0.2, 0.3])


def test_sampling_reads_only_what_it_takes(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.png").write_bytes(encoded(".png") if number % 5 == 0 else b"never read")
    reader = open_folder(tmp_path, Sampling("fps", 2))
    assert len(list(reader.pictures())) == 4
    assert reader.summary() is None


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".png", ".bmp", ".webp"])
def test_kinds(suffix: str) -> None:
    image = decode_image(encoded(suffix), Converter(None))
    assert image.shape == (48, 64, 3)
    assert np.abs(image.astype(int) - (100, 120, 60)).max() <= 4
    assert decode_image(encoded(suffix), Converter(32)).shape == (24, 32, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        np.random.default_rng(0).bytes(5000),
        encoded(".jpg")[:200],
        encoded(".png")[:-60],
        with_size(encoded(".jpg"), 65_500, 65_500),
        with_size(encoded(".jpg"), 20_000, 20_000),
        png_with_size(encoded(".png"), 60_000, 60_000),
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n",
    ],
    ids=["empty", "random", "half a jpeg", "half a png", "65500²", "20000²", "60000² png", "a playlist"],
)
def test_damaged_and_hostile(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_image(data, Converter(None))


def test_an_image_that_is_too_large_or_moves_is_not_called_damaged_alone() -> None:
    for data in (png_with_size(encoded(".png"), 60_000, 60_000), encoded(".jpg")[:200]):
        with pytest.raises(ValueError, match="not an image, damaged, animated, or above 64 megapixels"):
            decode_image(data, Converter(None))


def test_a_damaged_image_leaves_its_neighbours(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("1.jpg", "2.jpg", "3.jpg", "4.jpg"):
        (tmp_path / name).write_bytes(encoded(".jpg"))
    (tmp_path / "2.jpg").write_bytes(encoded(".jpg")[:100])
    (tmp_path / "3.jpg").write_bytes(b"")
    reader = open_folder(tmp_path)
    with caplog.at_level(logging.WARNING):
        pictures = list(reader.pictures())
    assert [picture.media_time_s for picture in pictures] == pytest.approx([0, 0.3])
    assert (
        reader.summary()
        == "2 of 4 images could not be read; 2.jpg: not an image, damaged, animated, or above 64 megapixels"
    )
    assert "3.jpg: the file is empty" in caplog.text


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no images") as caught:
        open_folder(tmp_path)
    assert caught.value.reason == "empty"
    (tmp_path / "a.png").write_bytes(b"nothing")
    with pytest.raises(SourceError, match="1 of 1 images could not be read") as caught:
        list(open_folder(tmp_path).pictures())
    assert caught.value.reason == "corrupt"


def test_one_image_by_name(tmp_path: Path) -> None:
    path = tmp_path / "50%d.png"
    path.write_bytes(encoded(".png"))
    assert len(list(open_folder(path).pictures())) == 1
