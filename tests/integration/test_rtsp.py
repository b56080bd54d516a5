"""Capture from a real RTSP camera."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from serving.common.retrying import Backoff
from tests.operators.capture.clips import make_clip, moving
from tests.operators.capture.recorder import Recorder
from tests.real.rtsp import MakeServer

pytestmark = pytest.mark.rtsp

PASSWORD = "p@ss w/rd"


def spec(uri: str, **options: Any) -> CaptureSpec:
    backoff = Backoff(first_s=0.1, max_s=0.2, persistent_first_s=0.1)
    return CaptureSpec(stream="gate", uri=SourceUri(uri), backoff=backoff, **options)


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_clip(tmp_path / "clip.mp4", frames=48, fps=12)


@pytest.mark.parametrize("rtcp", [True, False])
def test_frames_come_with_their_times(rtsp_server: MakeServer, clip: Path, rtcp: bool) -> None:
    with Recorder(spec(rtsp_server(clip, rtcp=rtcp).uri)) as recorder:
        recorder.until(lambda: len(recorder.seqs) >= 20)
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]
    assert recorder.seqs == list(range(len(recorder.seqs)))
    times_s = sorted(frame.media_time_s for frame in [*recorder.frames, *recorder.dropped])
    assert times_s[:20] == pytest.approx([index / 12 for index in range(20)], abs=0.01)
    first = recorder.frames[0]
    assert np.abs(first.image.astype(int) - moving(round(first.media_time_s * 12))).mean() < 6


def test_a_camera_that_sends_by_udp_alone(rtsp_server: MakeServer, clip: Path) -> None:
    with Recorder(spec(rtsp_server(clip, udp=True).uri)) as recorder:
        recorder.until(lambda: len(recorder.seqs) >= 10)
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]


def test_a_camera_with_a_password(rtsp_server: MakeServer, clip: Path) -> None:
    with Recorder(spec(rtsp_server(clip, user="cam", password=PASSWORD).uri)) as recorder:
        recorder.until(lambda: len(recorder.frames) >= 3)
    assert {status.uri for status in recorder.statuses} == {recorder.statuses[0].uri}
    assert recorder.statuses[0].uri.startswith("rtsp://***@127.0.0.1:")


def test_a_camera_whose_user_has_no_password(rtsp_server: MakeServer, clip: Path) -> None:
    uri = rtsp_server(clip, user="cam", password="").uri
    with Recorder(spec(uri.replace("cam:@", "cam@"))) as recorder:
        recorder.until(lambda: len(recorder.frames) >= 3)
    assert ("running", None) in recorder.states


def test_a_wrong_password_is_told_and_never_shown(
    rtsp_server: MakeServer, clip: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    uri = rtsp_server(clip, user="cam", password=PASSWORD).uri.replace("p%40ss", "wr0ng")
    assert "wr0ng" in uri
    with caplog.at_level(logging.DEBUG), Recorder(spec(uri)) as recorder:
        recorder.until(lambda: recorder.states.count(("reconnecting", "auth_failed")) >= 2)
    assert "401" in (recorder.statuses[1].message or "")
    shown = repr(recorder.statuses) + caplog.text + "".join(capfd.readouterr())
    assert "wr0ng" not in shown
    assert "w/rd" not in shown
    assert "w%2Frd" not in shown


def test_no_password_where_one_is_wanted(rtsp_server: MakeServer, clip: Path) -> None:
    camera = rtsp_server(clip, user="cam", password=PASSWORD)
    with Recorder(spec(f"rtsp://127.0.0.1:{camera.port}/camera")) as recorder:
        recorder.until(lambda: ("reconnecting", "auth_failed") in recorder.states)


def test_a_path_the_camera_does_not_know(rtsp_server: MakeServer, clip: Path) -> None:
    with Recorder(spec(rtsp_server(clip).uri.replace("/camera", "/other"))) as recorder:
        recorder.until(lambda: ("reconnecting", "not_found") in recorder.states)


def test_keyframes_only(rtsp_server: MakeServer, tmp_path: Path) -> None:
    camera = rtsp_server(make_clip(tmp_path / "rare.mp4", frames=144, fps=8, keyframe_every=96))
    # a shorter patience than the time between key frames: packets that pass show that the camera lives
    with Recorder(spec(camera.uri, sampling=Sampling("keyframes"), stall_timeout_s=8)) as recorder:
        recorder.until(lambda: len(recorder.frames) >= 2)
    assert ("stalled", "stalled") not in recorder.states
    times_s = [frame.media_time_s for frame in recorder.frames]
    assert times_s[:2] == pytest.approx([0, 12], abs=0.1)


def test_sampled_rarely(rtsp_server: MakeServer, clip: Path) -> None:
    # the same for frames that are wanted less often than the patience lasts
    with Recorder(spec(rtsp_server(clip).uri, sampling=Sampling("fps", 0.08), stall_timeout_s=8)) as recorder:
        recorder.until(lambda: len(recorder.frames) >= 2)
    assert ("stalled", "stalled") not in recorder.states


def test_a_clip_that_is_not_repeated_ends_and_is_opened_again(rtsp_server: MakeServer, tmp_path: Path) -> None:
    camera = rtsp_server(make_clip(tmp_path / "short.mp4", frames=12, fps=12), loop=False)
    with Recorder(spec(camera.uri)) as recorder:
        recorder.until(lambda: recorder.states.count(("running", None)) == 2)
    assert recorder.states[:4] == [("starting", None), ("running", None), ("reconnecting", "ended"), ("running", None)]


def test_a_real_clip(rtsp_server: MakeServer, data_dir: Path) -> None:
    camera = rtsp_server(data_dir / "videos" / "person-bicycle-car-detection.mp4")
    with Recorder(spec(camera.uri, sampling=Sampling("fps", 4))) as recorder:
        recorder.until(lambda: len(recorder.frames) >= 8)
    assert recorder.frames[0].image.shape == (432, 768, 3)
