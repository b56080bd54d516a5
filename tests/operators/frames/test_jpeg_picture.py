"""No more of a JPEG is decoded than is looked at, and what is seen is what the whole picture would have shown."""

from __future__ import annotations

import threading

import cv2
import numpy as np
import pytest

from operators.detect.motion import Background, MotionSettings
from operators.frames import jpeg_picture
from operators.frames.changes import thumbnail
from operators.frames.codec import FrameError, decode_frame, encode_frame
from operators.frames.frame import Frame, frame_of, make_image
from operators.frames.jpeg_picture import LOOKED_AT, JpegPicture
from operators.frames.planes import bgr, bytes_of, encoding_of, grey
from operators.wire.schema import FrameHeader, FrameId
from serving.common.tensors import Image
from serving.errors import Malformed

WIDTH, HEIGHT = 1920, 1080
MEAN, WORST = 1.0, 64
"""Grey levels by which a picture that is made of a part of the JPEG may differ, on the mean and in any pixel."""


def street(width: int = WIDTH, height: int = HEIGHT) -> Image:
    """Smooth ground with small things on it, as cameras see them."""
    rng = np.random.default_rng(0)
    image = cv2.resize(rng.integers(40, 200, (9, 16, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
    for x, y in rng.integers(0, (width - 60, height - 60), (40, 2)):
        cv2.rectangle(image, (int(x), int(y)), (int(x) + 50, int(y) + 30), rng.integers(0, 255, 3).tolist(), -1)
    return image


def message(image: Image) -> tuple[FrameHeader, bytes]:
    return encode_frame(frame_of(FrameId("cam", "run", 0), image))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The widths of all pictures that were decoded."""
    widths, decode = list[int](), cv2.imdecode

    def noting(data: np.ndarray, flags: int) -> Image | None:
        found = decode(data, flags)
        widths.append(0 if found is None else found.shape[1])
        return found

    monkeypatch.setattr(jpeg_picture.cv2, "imdecode", noting)
    return widths


def looked_at(image: Image | None = None) -> Frame:
    return decode_frame(*message(street() if image is None else image), LOOKED_AT)


def test_a_quarter_is_decoded_where_that_is_enough_and_more_where_it_is_not(decoded: list[int]) -> None:
    pixels = looked_at().pixels
    assert isinstance(pixels, JpegPicture)
    assert (pixels.shape, decoded) == ((HEIGHT, WIDTH, 3), [WIDTH // 4])
    for width in (416, 320, 480):
        assert pixels.scaled(width, 234).shape == (234, width, 3)
    assert decoded == [WIDTH // 4]
    assert pixels.scaled(640, 360).shape == (360, 640, 3)
    assert decoded == [WIDTH // 4, WIDTH // 2]
    pixels.grey(416, 234)
    assert not pixels.is_converted
    assert pixels.bgr.shape == pixels.shape
    pixels.scaled(416, 234)
    assert (pixels.is_converted, decoded) == (True, [WIDTH // 4, WIDTH // 2, WIDTH])


def test_what_a_detector_sees_is_what_the_whole_picture_shows() -> None:
    frame, whole = looked_at(), decode_frame(*message(street())).image
    pixels = frame.pixels
    assert not isinstance(pixels, np.ndarray)
    for width, height in ((416, 234), (320, 180), (640, 360), (960, 540)):
        apart = np.abs(pixels.scaled(width, height).astype(int) - cv2.resize(whole, (width, height), interpolation=3))
        assert apart.mean() < MEAN
        assert apart.max() < WORST
        apart = np.abs(grey(pixels, width, height).astype(int) - grey(whole, width, height))
        assert apart.mean() < MEAN
    assert np.abs(thumbnail(pixels).astype(int) - thumbnail(whole)).mean() < MEAN
    assert np.array_equal(frame.image, whole)


def test_the_whole_picture_is_the_same_whichever_way_it_is_asked_for() -> None:
    header, data = message(street())
    frame = decode_frame(header, data, LOOKED_AT)
    assert frame.pixels.nbytes == WIDTH * HEIGHT * 3
    assert np.array_equal(bgr(frame.pixels), decode_frame(header, data).image)
    assert bytes(bytes_of(frame.pixels)) == decode_frame(header, data).image.tobytes()
    assert frame.pixels.nbytes == frame.image.nbytes, "as it was counted before"
    assert encoding_of(frame.pixels) == "bgr24"
    assert frame.pixels.copy() is frame.pixels


async def test_it_is_decoded_beside_the_event_loop_before_something_is_cut_from_it() -> None:
    frame = looked_at()
    await make_image(frame)
    assert isinstance(frame.pixels, JpegPicture)
    assert frame.pixels.is_converted


def test_threads_that_ask_at_once_each_get_what_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, decode = looked_at().pixels, cv2.imdecode
    assert isinstance(pixels, JpegPicture)
    first, more = threading.Event(), list[Image]()

    def slow(data: np.ndarray, flags: int) -> Image | None:
        found = decode(data, flags)
        if found is not None and found.shape[1] == WIDTH // 2:
            first.set()
            whole.join()
        return found

    monkeypatch.setattr(jpeg_picture.cv2, "imdecode", slow)
    whole = threading.Thread(target=lambda: first.wait() and more.append(pixels.bgr))
    whole.start()
    assert pixels.scaled(960, 540).shape == (540, 960, 3)
    assert more[0].shape == pixels.shape
    assert pixels.is_converted, "what is there does not become less"


def test_small_pictures_are_decoded_at_once() -> None:
    frame = looked_at(street(2 * LOOKED_AT - 2, 400))
    assert isinstance(frame.pixels, np.ndarray)
    assert isinstance(looked_at(street(2 * LOOKED_AT, 400)).pixels, JpegPicture)


@pytest.mark.parametrize("size", [(1, 3000), (3001, 1), (833, 417), (1366, 768)], ids=str)
def test_odd_sizes_are_looked_at_as_others_are(size: tuple[int, int]) -> None:
    frame, (width, height) = looked_at(street(1920, 1080)[: size[1], : size[0]].copy()), size
    shape = min(height, HEIGHT), min(width, WIDTH), 3
    assert (frame.pixels.shape, frame.image.shape) == (shape, shape)


def test_movement_is_found_as_in_the_whole_picture() -> None:
    settings = MotionSettings(warmup_s=0.5)
    one, other = Background(settings), Background(settings)
    still = street()
    for step in range(20):
        image = still.copy()
        if step >= 8:
            cv2.rectangle(image, (200 + 40 * step, 500), (350 + 40 * step, 620), (250, 250, 250), -1)
        sent = message(image)
        seen = one.boxes(decode_frame(*sent, LOOKED_AT).pixels, step / 5)
        whole = other.boxes(decode_frame(*sent).pixels, step / 5)
    assert len(seen) == len(whole) == 1
    assert np.allclose(seen[0][0].x_min, whole[0][0].x_min, atol=0.01)
    assert np.allclose(seen[0][0].y_max, whole[0][0].y_max, atol=0.01)


def test_damage_is_found_before_anything_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    header, data = message(street())
    monkeypatch.setattr(jpeg_picture.cv2, "imdecode", lambda *_: None)
    for least in (LOOKED_AT, None):
        with pytest.raises(FrameError, match="damaged") as caught:
            decode_frame(header, data, least)
        assert caught.value.reason == "undecodable_image"
    monkeypatch.undo()
    pixels = decode_frame(header, data, LOOKED_AT).pixels
    monkeypatch.setattr(jpeg_picture.cv2, "imdecode", lambda *_: None)
    with pytest.raises(Malformed, match="damaged"):
        bgr(pixels)


QUARTER_TURN = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"


@pytest.mark.parametrize("least", [16, 320])
def test_an_orientation_turns_nothing(least: int) -> None:
    """The header of a frame says the size of the JPEG as it lies, and boxes are shares of that."""
    data = bytes(cv2.imencode(".jpg", street(320, 180))[1])
    turned = data[:2] + b"\xff\xe1" + (len(QUARTER_TURN) + 2).to_bytes(2) + QUARTER_TURN + data[2:]
    assert cv2.imdecode(np.frombuffer(turned, np.uint8), cv2.IMREAD_COLOR).shape == (320, 180, 3), "others turn it"
    assert (JpegPicture(turned, 320, 180, least).bgr == JpegPicture(data, 320, 180, least).bgr).all()


@pytest.mark.parametrize("least", [16, 320])
def test_a_grey_one_has_three_colours_that_are_the_same(least: int) -> None:
    data = bytes(cv2.imencode(".jpg", street(320, 180)[..., 0])[1])
    seen = JpegPicture(data, 320, 180, least).bgr
    assert seen.shape == (180, 320, 3)
    assert (seen == seen[..., :1]).all()
