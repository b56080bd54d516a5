from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET

from operators.capture.outlet import CaptureCallbacks
from operators.capture.picture import Picture
from operators.capture.run import LONGEST_WAIT_S, CaptureRun
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from tests.fake_clock import FakeClock


class Run:
    """A run of a live source, fed by hand."""

    def __init__(self, **asked: Any) -> None:
        self.clock = FakeClock()
        self.frames: list[Frame] = []
        spec = CaptureSpec(**{"stream": "gate", "uri": SourceUri("rtsp://camera"), **asked})
        self.run = CaptureRun(spec, CaptureCallbacks(self.frames.append), self.clock)
        self.run.waits = True  # hands frames on at once

    def picture(self, media_time_s: float, age_s: float = 0.0) -> Frame:
        self.accept(media_time_s, age_s)
        return self.frames[-1]

    def accept(self, media_time_s: float, age_s: float = 0.0) -> None:
        image = np.zeros((4, 4, 3), np.uint8)
        self.run.accept(Picture(image, media_time_s, self.clock.monotonic_s() - age_s, 1.0))


def test_capture_time_is_the_time_of_day_at_which_the_picture_was_decoded() -> None:
    run = Run()
    began = run.clock.now()
    run.clock.advance(5)
    assert (run.picture(0.0, age_s=0.5).captured_at - began).total_seconds() == 4.5


@pytest.mark.parametrize("set_back_s", [7200, -7200])
def test_a_clock_that_is_set_moves_no_media_time(set_back_s: float) -> None:
    run = Run()
    run.picture(0.0)
    run.clock.advance(1)
    run.clock.set_back(set_back_s)
    assert run.picture(1.0).media_time_s == 1.0
    run.run.lost()
    run.clock.set_back(-2 * set_back_s)
    run.clock.advance(20)  # until the source is there again, with a new clock of its own
    assert run.picture(0.0).media_time_s == pytest.approx(21.0)
    assert run.picture(0.1).media_time_s == pytest.approx(21.1)


def test_a_frame_says_what_was_left_out_around_it() -> None:
    thinned = Run(sampling=Sampling("fps", 5.0), motion_gate=True).picture(0.0).header
    assert (thinned.sample_fps, thinned.motion_gate) == (5.0, True)
    for whole in (Run(), Run(sampling=Sampling("keyframes"))):
        header = whole.picture(0.0).header
        assert (header.sample_fps, header.motion_gate) == (UNSET, UNSET)


@pytest.mark.parametrize(
    ("uri", "waits_s"),
    [("http://camera/live.m3u8", [0, 0.5, 0, 0.5, LONGEST_WAIT_S, 0.5]), ("clip.mp4", [0, 0.5, 0, 0, 3.5, 0.5])],
)
def test_a_playlist_that_comes_late_or_steps_ahead_goes_on_at_its_own_pace_and_a_clip_keeps_its_times(
    uri: str, waits_s: list[float]
) -> None:
    run, waited = Run(uri=SourceUri(uri)), list[float]()

    def wait(seconds: float) -> None:
        waited.append(seconds)
        run.clock.advance(seconds)

    run.run.paced, run.run.waits = True, False
    run.run.stopped = SimpleNamespace(is_set=lambda: False, wait=wait)  # type: ignore[assignment]
    for media_time_s, passed_s in ((0.0, 0.0), (0.5, 0.0), (1.0, 7.0), (1.5, 0.0), (11.0, 0.0), (11.5, 0.0)):
        run.clock.advance(passed_s)
        run.accept(media_time_s)
    run.run.close()
    assert waited == pytest.approx(waits_s)
