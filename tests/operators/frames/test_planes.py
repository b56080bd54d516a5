"""Pictures in planes beside the same pictures in blue, green and red."""

from __future__ import annotations

import threading
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from operators.capture.sources.convert import Converter
from operators.frames import planes
from operators.frames.changes import thumbnail
from operators.frames.frame import make_image
from operators.frames.planes import Planes, bgr, bytes_of, encoding_of, grey, size_bytes, viewed
from operators.testing import make_frame
from serving.catalogue.cards import ImageInput
from serving.preprocess import batch

CLIPS = ["person-bicycle-car-detection.mp4", "street-level.mp4"]


def decoded(data_dir: Path, clip: str, width: int | None = None, colours: int | None = None) -> av.VideoFrame:
    """A frame of a clip; at another width, and as if its colours were of another standard."""
    with av.open(str(data_dir / "videos" / clip)) as container:
        frame = list(zip(range(40), container.decode(video=0), strict=False))[-1][1]
    if width is not None:
        frame = frame.reformat(width, width * 9 // 16, "yuv420p")
    if colours is not None:
        frame.colorspace = colours
    return frame


def both(frame: av.VideoFrame) -> tuple[Planes, np.ndarray]:
    """The picture in planes, and as it was converted before there were planes."""
    pixels = Converter(None).pixels(frame)
    assert isinstance(pixels, Planes)
    return pixels, Converter(None).bgr(frame)


@pytest.mark.parametrize("colours", [None, 1, 5, 6])
@pytest.mark.parametrize("clip", CLIPS)
def test_the_image_is_the_same_to_the_last_bit(data_dir: Path, clip: str, colours: int | None) -> None:
    pixels, image = both(decoded(data_dir, clip, colours=colours))
    assert pixels.encoding == ("yuv709" if colours == 1 else "yuv601")
    assert pixels.shape == image.shape
    assert (pixels.bgr == image).all()
    assert pixels.bgr is pixels.bgr
    assert not pixels.bgr.flags.writeable


@pytest.mark.parametrize("width", [None, 1280, 1920])
@pytest.mark.parametrize("clip", CLIPS)
def test_what_a_detector_sees_is_the_mean_of_the_image_within_a_level_and_in_its_place(
    data_dir: Path, clip: str, width: int | None
) -> None:
    pixels, image = both(decoded(data_dir, clip, width))
    size = 416, round(image.shape[0] * 416 / image.shape[1])
    wanted = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(int)
    apart = pixels.scaled(*size).astype(int) - wanted
    assert np.abs(apart).mean() < 1.5
    assert np.percentile(np.abs(apart), 99) <= 8
    assert np.abs(apart.mean(axis=(0, 1))).max() < 1
    moved = [np.abs(pixels.scaled(*size).astype(int) - np.roll(wanted, 1, axis)).mean() for axis in (0, 1)]
    assert min(moved) > 1.5 * np.abs(apart).mean()


@pytest.mark.parametrize("width", [None, 1280])
@pytest.mark.parametrize("clip", CLIPS)
def test_a_thumbnail_of_the_brightness_is_that_of_the_image_within_a_few_levels(
    data_dir: Path, clip: str, width: int | None
) -> None:
    pixels, image = both(decoded(data_dir, clip, width))
    small, wanted = thumbnail(pixels), thumbnail(image)
    assert small.shape == wanted.shape
    apart = np.abs(small.astype(int) - wanted)
    assert apart.mean() < 1.5
    assert np.percentile(apart, 99) <= 6


@pytest.mark.parametrize("resize", ["letterbox", "stretch", "crop"])
@pytest.mark.parametrize("side", [96, 416, 1000])
def test_a_network_is_given_the_same_picture_in_the_same_place(data_dir: Path, resize: str, side: int) -> None:
    pixels, image = both(decoded(data_dir, CLIPS[0]))
    size = ImageInput(width=side, height=side, resize=resize)  # type: ignore[arg-type]
    (one, placed), (other, as_before) = batch(size, [pixels]), batch(size, [image])
    assert placed == as_before
    assert np.abs(one - other).mean() < 3
    if resize == "crop" or side == 1000:
        assert (one == other).all()


def test_the_bytes_come_back_as_the_same_picture(data_dir: Path) -> None:
    for pixels in both(decoded(data_dir, CLIPS[1])):
        height, width, _ = pixels.shape
        again = viewed(bytes_of(pixels), encoding_of(pixels), width, height)
        assert (bgr(again) == bgr(pixels)).all()
        assert len(bytes_of(pixels)) == pixels.nbytes == size_bytes(encoding_of(pixels), width, height)
        assert (bgr(pixels.copy()) == bgr(pixels)).all()


def test_planes_have_even_sides() -> None:
    assert size_bytes("yuv601", 4, 2) == 12
    assert size_bytes("yuv601", 3, 2) is None
    assert size_bytes("yuv709", 4, 3) is None
    assert size_bytes("bgr24", 3, 3) == 27


def test_a_thread_keeps_few_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = Planes(np.full((96, 64), 128, np.uint8), "yuv601")

    def convert() -> None:
        for width in range(2, 2 + 3 * planes.MOST_CONVERSIONS):
            pixels.scaled(width, 8)
        kept.append(len(planes._of_thread.kept))

    kept: list[int] = []
    thread = threading.Thread(target=convert)
    thread.start()
    thread.join()
    assert kept == [planes.MOST_CONVERSIONS]


def test_black_and_white_are_grey_levels_from_0_to_255() -> None:
    rows = np.full((96, 64), 128, np.uint8)
    rows[:32], rows[32:64] = 16, 235
    small = grey(Planes(rows, "yuv601"), 2, 2)
    assert small.tolist() == [[0, 0], [255, 255]]


@pytest.mark.parametrize("change", ["odd", "full range", "rgb", "too wide", "turned"])
def test_other_pictures_are_images(data_dir: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, converter = decoded(data_dir, CLIPS[1]), Converter(320 if change == "too wide" else None)
    if change == "odd":
        frame = frame.reformat(639, 351, "yuv420p")
    elif change == "full range":
        frame.color_range = 2
    elif change == "rgb":
        frame = frame.reformat(format="rgb24")
    elif change == "turned":
        monkeypatch.setattr("operators.capture.sources.convert._turn", lambda frame: (True, 1))
    pixels = converter.pixels(frame)
    assert isinstance(pixels, np.ndarray)
    assert (pixels == converter.bgr(frame)).all()


@pytest.mark.parametrize(("width", "threads"), [(640, []), (1280, ["worker"])])
async def test_a_large_image_is_made_in_a_thread_before_crops_are_cut(
    monkeypatch: pytest.MonkeyPatch, width: int, threads: list[str]
) -> None:
    made: list[str] = []
    convert = Planes.scaled

    def noted(pixels: Planes, *size: int) -> np.ndarray:
        made.append(threading.current_thread().name.partition("-")[0])
        return convert(pixels, *size)

    monkeypatch.setattr(Planes, "scaled", noted)
    frame = make_frame(image=Planes(np.full((1080, width), 128, np.uint8), "yuv601"))
    for _ in range(2):
        await make_image(frame)
    assert made == threads
    await make_image(make_frame())
    assert frame.image.shape == (720, width, 3)
