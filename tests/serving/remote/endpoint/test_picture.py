"""Pictures as they are sent."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from serving.preprocess import batch
from serving.remote.endpoint.question import data_url, without_padding
from serving.remote.endpoint.terms import CallTerms, Question, VisionEndpoint

CARD = VisionEndpoint("http://127.0.0.1/v1", "m", Question("?", ("a",)), CallTerms(1, None), detail=64).card()


def test_padding_is_not_sent() -> None:
    image = np.random.default_rng(0).integers(0, 100, (20, 40, 3), dtype=np.uint8)
    (shown,), _ = batch(CARD.input, [image])
    assert shown.shape == (64, 64, 3)
    assert without_padding(shown).shape == (32, 64, 3)


def test_a_grey_picture_stays_whole() -> None:
    assert without_padding(np.full((8, 8, 3), 114, np.uint8)).shape == (8, 8, 3)


def test_a_jpeg_has_the_picture_and_no_metadata() -> None:
    picture = np.zeros((16, 24, 3), np.uint8)
    picture[:] = (200, 30, 30)
    data = base64.b64decode(data_url(picture).removeprefix("data:image/jpeg;base64,"))
    back = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert back.shape == picture.shape
    assert np.abs(back.astype(int) - picture).max() < 12
    assert b"Exif" not in data
    assert b"http" not in data
