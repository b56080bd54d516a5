from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from operators.capture.sources.hardware import Hardware
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from tests.operators.capture.clips import make_clip
from tests.operators.capture.fake_device import FakeDevice
from tests.operators.capture.recorder import record

CLIPS = [("a.mp4", "libx264"), ("a.h264", "libx264"), ("a.ts", "libx264"), ("a.avi", "mpeg4")]
"""With an index, without stamps, with a clock that may jump, without presentation stamps."""


@pytest.mark.parametrize(("name", "codec"), CLIPS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling("fps", 5), Sampling("keyframes")])
@pytest.mark.parametrize("fails_from", [0, 1, 30])
def test_software_goes_on_where_the_device_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str, sampling: Sampling, fails_from: int
) -> None:
    uri = SourceUri(str(make_clip(tmp_path / name, frames=60, codec=codec)))
    software = open_source(uri, sampling, None)
    expected = list(software.pictures())
    device = FakeDevice(fails_from=fails_from).install(monkeypatch.setattr)
    told: list[str] = []
    source = open_source(uri, sampling, None, Hardware("cuda", told.append))
    pictures = list(source.pictures())
    assert [each.media_time_s for each in pictures] == [each.media_time_s for each in expected]
    for picture, same in zip(pictures, expected, strict=True):
        assert np.array_equal(picture.image, same.image)
    assert source.summary() is None
    assert source.interval_s == software.interval_s
    source.close()
    assert device.opens == ["cuda", None]
    assert told == ["cuda failed in mid-stream (Generic error in an external library)"]


def test_a_loop_tries_the_device_once_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=12)
    device = FakeDevice(fails_from=7).install(monkeypatch.setattr)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(clip)), loop=True, limit=30, hwaccel="cuda")
    with caplog.at_level(logging.WARNING):
        recorder = record(spec)
    assert recorder.seqs == list(range(30))
    assert [frame.media_time_s for frame in recorder.frames] == pytest.approx([k / 12 for k in range(30)])
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]
    assert device.opens == ["cuda", None, None, None]
    assert caplog.messages == [
        "stream gate: decoded in software, although cuda is wanted: "
        "cuda failed in mid-stream (Generic error in an external library)"
    ]
