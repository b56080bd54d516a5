"""Both ways show the same look, and the headline names each."""

from __future__ import annotations

import numpy as np

from benchmarks.jpegs import LOOKS, _look, _messages, headline
from operators.frames.codec import decode_frame
from operators.frames.jpeg_picture import LOOKED_AT


def test_the_headline_gives_the_ratios() -> None:
    row = {"width": 1280, "height": 720, "look": "motion", "ratio": 0.6}
    assert headline([row]) == {"1280x720, motion": 0.6}


def test_all_of_the_picture_is_decoded_where_something_is_cut_out() -> None:
    ((header, data),) = _messages(1280, 720, 1)
    for across, crops in LOOKS.values():
        frame = decode_frame(header, data, LOOKED_AT)
        _look(frame, across, crops)
        assert not isinstance(frame.pixels, np.ndarray)
        assert frame.pixels.is_converted == crops
