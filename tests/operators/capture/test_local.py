"""Captures of files, directories and generated scenes, through the public door."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from serving.errors import SourceError
from tests.operators.capture.clips import make_clip
from tests.operators.capture.recorder import Recorder, record


def spec(uri: Path | str, **options: Any) -> CaptureSpec:
    return CaptureSpec(stream="gate", uri=SourceUri(str(uri)), **options)


def test_a_file_from_start_to_end(tmp_path: Path) -> None:
    recorder = record(spec(make_clip(tmp_path / "a.mp4", frames=24)))
    assert recorder.error is None
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]
    assert recorder.seqs == list(range(24))
    (run,) = {status.run for status in recorder.statuses}
    assert {(frame.stream, frame.run) for frame in recorder.frames} == {("gate", run)}
    assert [status.frames for status in recorder.statuses] == [0, 0, 24]


def test_a_missing_file_fails_at_once(tmp_path: Path) -> None:
    recorder = record(spec(tmp_path / "none.mp4"))
    assert recorder.states == [("starting", None), ("failed", "not_found")]
    assert isinstance(recorder.error, SourceError)
    assert recorder.statuses[-1].message == f"{tmp_path}/none.mp4: no such file" == str(recorder.error)


def test_a_clip_that_ends_early_ends_with_a_message(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mkv", frames=120)
    clip.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
    recorder = record(spec(clip))
    assert recorder.statuses[-1].state == "ended"
    assert "of the 10.0 s its header promises" in recorder.statuses[-1].message


def test_limit(tmp_path: Path) -> None:
    recorder = record(spec(make_clip(tmp_path / "a.mp4"), limit=5))
    assert recorder.seqs == [0, 1, 2, 3, 4]
    assert recorder.states[-1] == ("ended", None)


def test_a_slow_consumer_makes_the_file_wait(tmp_path: Path) -> None:
    recorder = record(spec(make_clip(tmp_path / "a.mp4", frames=10)), emit=lambda frame: time.sleep(0.03))
    assert [frame.seq for frame in recorder.frames] == list(range(10))


def test_seq_counts_after_the_motion_gate(tmp_path: Path) -> None:
    def draw(index: int) -> Any:
        image = np.full((64, 96, 3), 60, np.uint8)
        image[20:50, 10:40] = 220 if 10 <= index < 20 else 60
        return image

    recorder = record(spec(make_clip(tmp_path / "a.mp4", frames=40, draw=draw), motion_gate=True))
    assert recorder.seqs == [0, 1, 2]
    assert [frame.media_time_s for frame in recorder.frames] == pytest.approx([0, 10 / 12, 20 / 12])


def test_loops_count_on(tmp_path: Path) -> None:
    recorder = record(spec(make_clip(tmp_path / "a.mp4", frames=12, fps=12), loop=True, limit=30))
    assert recorder.seqs == list(range(30))
    assert [frame.media_time_s for frame in recorder.frames] == pytest.approx([k / 12 for k in range(30)])
    assert [state for state, _ in recorder.states].count("running") == 1


def test_realtime_keeps_the_pace_and_does_not_wait_for_the_consumer(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=24, fps=24)
    slow = iter([3.0])
    recorder = record(spec(clip, realtime=True), emit=lambda frame: time.sleep(next(slow, 0)))
    captured = [frame.captured_at for frame in recorder.frames]
    assert (captured[-1] - captured[0]).total_seconds() >= 23 / 24 - 0.01
    assert recorder.seqs == list(range(24))
    assert recorder.dropped
    assert {header.cause for header in recorder.dropped} == {"capture_overrun"}


def test_stop_in_mid_stream(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=24)
    with Recorder(spec(clip, loop=True, realtime=True)) as recorder:
        recorder.until(lambda: len(recorder.frames) > 3)
    assert recorder.states[-1] == ("ended", None)
    assert recorder.statuses[-1].message == "stopped"
    assert recorder.seqs == list(range(len(recorder.seqs)))


def test_what_the_consumer_raises_ends_the_run(tmp_path: Path) -> None:
    def fail(frame: Frame) -> None:
        raise OSError("disk full")

    clip = make_clip(tmp_path / "a.mp4")
    for realtime in (False, True):
        recorder = record(spec(clip, realtime=realtime), emit=fail)
        assert isinstance(recorder.error, OSError)
        assert len(recorder.frames) == 1
        assert recorder.states[-1] == ("failed", "error")
        assert "disk full" in (recorder.statuses[-1].message or "")


def test_a_directory_of_images(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.zeros((32, 48, 3), np.uint8))
    (tmp_path / "1.png").write_bytes(b"damaged")
    recorder = record(spec(tmp_path))
    assert recorder.seqs == [0, 1]
    assert recorder.statuses[-1].state == "ended"
    assert "1.png" in (recorder.statuses[-1].message or "")


def test_a_generated_street() -> None:
    uri = "synthetic:street?seed=1&fps=4&duration_s=1&width=320&height=180"
    recorder = record(spec(uri, sampling=Sampling("fps", 2), max_width=160))
    assert [frame.image.shape for frame in recorder.frames] == [(90, 160, 3)] * 2
    assert [frame.media_time_s for frame in recorder.frames] == pytest.approx([0, 0.5])


@pytest.mark.parametrize("uri", ["synthetic:street?sead=1", "synthetic:street?seed=many", "synthetic:moon"])
def test_a_wrong_option_of_a_generator(uri: str) -> None:
    recorder = record(spec(uri))
    assert recorder.states[-1] == ("failed", "invalid_uri")
    assert isinstance(recorder.error, SourceError)


@pytest.mark.parametrize(
    "name", ["max_width", "limit", "stall_timeout_s", "connect_timeout_s", "freeze_timeout_s", "give_up_after_s"]
)
def test_a_spec_refuses_nonsense(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        spec("v4l2:0", **{name: 0})


def test_pictures_that_are_no_video_need_no_device(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cv2.imwrite(str(tmp_path / "0.png"), np.zeros((32, 48, 3), np.uint8))
    for uri in (tmp_path, "synthetic:street?seed=1&fps=4&duration_s=1&width=320&height=180"):
        assert record(spec(uri, hwaccel="vdpau")).error is None
    assert caplog.messages == []


def test_a_spec_refuses_devices_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"hwaccel must be one of none, auto, cuda, .*, not 'gpu'"):
        spec("v4l2:0", hwaccel="gpu")


def test_runs_in_any_thread(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=6)
    before = threading.active_count()
    recorders = [Recorder(spec(clip)) for _ in range(3)]
    for recorder in recorders:
        recorder.__enter__()
    assert all(recorder.join().seqs == list(range(6)) for recorder in recorders)
    assert len({recorder.statuses[0].run for recorder in recorders}) == 3
    assert threading.active_count() <= before + 3  # none of a capture's own
