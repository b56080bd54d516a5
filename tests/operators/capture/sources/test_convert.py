from __future__ import annotations

import av
import cv2
import numpy as np
import pytest

from operators.capture.sources.convert import Converter, shrink
from operators.frames.codec import fitted
from operators.frames.planes import bgr
from serving.common.tensors import Image

# luma weights of red and blue: ITU-R BT.709, BT.601, BT.2020 (numbers as in AVColorSpace; 2 is unspecified)
WEIGHTS = {1: (0.2126, 0.0722), 2: (0.299, 0.114), 5: (0.299, 0.114), 6: (0.299, 0.114), 9: (0.2627, 0.0593)}
FULL, LIMITED = 2, 1


def patches(width: int = 64, height: int = 48) -> Image:
    """Eight random colours, BGR."""
    colours = np.random.default_rng(0).integers(0, 256, (2, 4, 3), dtype=np.uint8)
    return np.repeat(np.repeat(colours, height // 2, 0), width // 4, 1)


def encoded(bgr: Image, colorspace: int, color_range: int, pixel_format: str) -> av.VideoFrame:
    red_weight, blue_weight = WEIGHTS[colorspace]
    blue, green, red = np.moveaxis(bgr.astype(float), 2, 0)
    luma = red_weight * red + (1 - red_weight - blue_weight) * green + blue_weight * blue
    chroma_blue = (blue - luma) / (2 * (1 - blue_weight))
    chroma_red = (red - luma) / (2 * (1 - red_weight))
    if color_range == LIMITED:
        luma, chroma_blue, chroma_red = 16 + luma * 219 / 255, chroma_blue * 224 / 255, chroma_red * 224 / 255
    frame = av.VideoFrame(bgr.shape[1], bgr.shape[0], pixel_format)
    frame.colorspace = colorspace  # type: ignore[assignment]
    frame.color_range = color_range  # type: ignore[assignment]
    planes = (luma, 128 + chroma_blue[::2, ::2], 128 + chroma_red[::2, ::2])
    for plane, values in zip(frame.planes, planes, strict=True):
        padded = np.zeros((plane.height, plane.line_size), np.uint8)
        padded[:, : plane.width] = np.clip(np.rint(values), 0, 255)
        plane.update(padded.tobytes())
    return frame


@pytest.mark.parametrize("colorspace", WEIGHTS)
@pytest.mark.parametrize(("pixel_format", "color_range"), [("yuv420p", LIMITED), ("yuv420p", FULL), ("yuvj420p", FULL)])
def test_colours_come_back(colorspace: int, pixel_format: str, color_range: int) -> None:
    bgr = patches()
    image = Converter(None).bgr(encoded(bgr, colorspace, color_range, pixel_format))
    assert np.abs(image.astype(int) - bgr).max() <= 4


def pq(light: np.ndarray) -> np.ndarray:
    """Light in cd/m² → the code of ITU-R BT.2100, table 4, 0…1."""
    root = (light / 10_000) ** 0.1593017578125
    return np.asarray(((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root)) ** 78.84375)


def hlg(light: np.ndarray) -> np.ndarray:
    """The camera's light, 0…1 → the code of table 5, 0…1."""
    bright = 0.17883277 * np.log(np.maximum(12 * light - 0.28466892, 1e-6)) + 0.55991073
    return np.asarray(np.where(light <= 1 / 12, np.sqrt(3 * light), bright))


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("transfer", [16, 18])
def test_high_dynamic_range_looks_as_an_ordinary_picture(transfer: int, depth: int) -> None:
    grey = np.arange(10, 230, 4)
    light = (grey / 255) ** 2.2
    codes = {16: pq(203 * np.append(light, [2, 5])), 18: hlg(0.265 * np.append(light, [2, 3.7]))}
    rows = np.full((48, 64), 0.5)
    rows[:32, : len(grey) + 2] = codes[transfer]
    step = 1 << (depth - 8)
    luma = np.rint(step * (16 + 219 * rows)).astype(np.uint16 if depth == 10 else np.uint8)
    luma[32:] = 128 * step
    frame = av.VideoFrame.from_ndarray(luma, format="yuv420p10le" if depth == 10 else "yuv420p")
    frame.color_trc, frame.color_range = transfer, LIMITED  # type: ignore[assignment]
    levels = bgr(Converter(None).pixels(frame))[0, :, 1].astype(int)
    assert np.abs(levels[: len(grey)] - grey).max() <= 6
    assert 240 < levels[len(grey)] < levels[len(grey) + 1]


@pytest.mark.parametrize(
    ("pixel", "max_width", "size"),
    [
        (4 / 3, None, (85, 48)),
        (0.5, None, (64, 96)),
        (0.5, 32, (32, 48)),
        (2.0, 64, (64, 24)),
        (1.01, None, (64, 48)),
        (40.0, None, (64, 48)),
        (0.0, None, (64, 48)),
    ],
)
def test_pictures_have_square_pixels(pixel: float, max_width: int | None, size: tuple[int, int]) -> None:
    frame, wanted = encoded(patches(), 1, LIMITED, "yuv420p"), cv2.resize(patches(), size)
    image = bgr(Converter(max_width, pixel).pixels(frame))
    assert image.shape == wanted.shape
    assert np.abs(image.astype(int) - wanted).mean() < 12


@pytest.mark.parametrize("pixel_format", ["yuv420p", "nv12"])
@pytest.mark.parametrize("colorspace", range(18))
def test_colours_that_nobody_knows_count_as_not_said(colorspace: int, pixel_format: str) -> None:
    frame = encoded(patches(), 2, LIMITED, "yuv420p").reformat(format=pixel_format)
    frame.colorspace = colorspace  # type: ignore[assignment]
    image = Converter(None).bgr(frame).astype(int)
    assert colorspace in WEIGHTS or colorspace in (0, 4, 7) or np.abs(image - patches()).max() <= 4


@pytest.mark.parametrize("pixel_format", ["yuv420p", "nv12", "yuv422p", "yuv444p", "yuv420p10le", "rgb24", "gray"])
@pytest.mark.parametrize(("width", "height"), [(64, 48), (37, 33), (101, 2)])
def test_every_format_and_odd_sizes(pixel_format: str, width: int, height: int) -> None:
    grey = np.full((height, width, 3), 130, np.uint8)
    frame = av.VideoFrame.from_ndarray(grey, format="bgr24").reformat(format=pixel_format)
    image = Converter(None).bgr(frame)
    assert image.shape == (height, width, 3)
    assert image.flags.c_contiguous
    assert np.abs(image.astype(int) - 130).max() <= 4


@pytest.mark.parametrize(("width", "height"), [(64, 2), (2, 4), (4, 64)])
def test_whatever_comes_can_be_made_an_image(width: int, height: int) -> None:
    grey = np.full((height, width, 3), 130, np.uint8)
    frame = av.VideoFrame.from_ndarray(grey, format="bgr24").reformat(format="yuv420p")
    assert np.abs(bgr(Converter(None).pixels(frame)).astype(int) - 130).max() <= 4


@pytest.mark.parametrize(("colorspace", "color_range"), [(1, LIMITED), (2, LIMITED), (5, FULL), (9, LIMITED)])
@pytest.mark.parametrize("max_width", [None, 64, 320])
@pytest.mark.parametrize(
    ("planar", "of_a_device", "width", "height"),
    [
        *(("yuv420p", "nv12", *size) for size in [(640, 480), (98, 66), (37, 33), (101, 2)]),
        *(("yuv420p10le", "p010le", *size) for size in [(640, 480), (98, 66)]),
    ],
)
def test_what_a_device_decoded_looks_as_what_software_decodes(
    planar: str, of_a_device: str, width: int, height: int, max_width: int | None, colorspace: int, color_range: int
) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)
    software = av.VideoFrame.from_ndarray(noise, format="bgr24").reformat(format=planar)
    software.colorspace = colorspace  # type: ignore[assignment]
    software.color_range = color_range  # type: ignore[assignment]
    device = software.reformat(format=of_a_device)
    assert device.format.name == of_a_device
    images = [Converter(max_width).bgr(frame).astype(int) for frame in (software, device)]
    assert np.abs(images[0] - images[1]).max() <= 1


def test_scales_down_and_never_up() -> None:
    frame = encoded(patches(640, 480), 2, LIMITED, "yuv420p")
    assert Converter(320).bgr(frame).shape == (240, 320, 3)
    assert Converter(641).bgr(frame).shape == (480, 640, 3)
    small = Converter(320).bgr(frame).astype(int)
    expected = cv2.resize(patches(640, 480), (320, 240), interpolation=cv2.INTER_AREA)
    assert np.abs(small - expected).mean() < 3


@pytest.mark.parametrize(
    ("size", "max_width", "expected"),
    [
        ((1920, 1080), 1280, (1280, 720)),
        ((1920, 1080), None, (1920, 1080)),
        ((4000, 1), 100, (100, 1)),
        ((100, 1000), 200, (80, 800)),
    ],
)
def test_fitted(size: tuple[int, int], max_width: int | None, expected: tuple[int, int]) -> None:
    assert fitted(*size, max_width) == expected


def test_shrink_leaves_small_images_alone() -> None:
    image = patches()
    assert shrink(image, 64) is image
    assert shrink(image, 32).shape == (24, 32, 3)
