"""Files as cameras, recorders and broadcasters make them: every frame at its time, and the right share sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import accumulate, count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import pytest

from operators.capture.sources import frame_times
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.frame_times import FrameTimes
from operators.capture.sources.media_clock import _WRAPS_S
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from tests.operators.capture.stamped_clips import FPS, joined, steadily, write

FRAMES = 80
STEADY = steadily(FRAMES)
UNSTEADY = list(accumulate([0.033, 0.1, 0.4, 0.05, 2.5, 0.1, 0.1, 0.07] * 10, initial=0.0))[:FRAMES]
WRAP_S = _WRAPS_S[0]


def times(path: Path, sampling: Sampling | None = None) -> list[float]:
    with closing(VideoReader(SourceUri(str(path)), sampling or Sampling(), max_width=32)) as reader:
        found = [picture.media_time_s for picture in reader.pictures()]
        assert reader.summary() is None
        return found


def check(path: Path, truth: Sequence[float]) -> None:
    assert times(path) == pytest.approx(truth, abs=0.5 / FPS)
    wanted = {int((second + 0.002) * 5) for second in truth}
    assert len(times(path, Sampling("fps", 5))) == pytest.approx(len(wanted), abs=1)


@pytest.mark.parametrize(("endless", "step_s"), [(True, 0.1), (False, 1 / 25)])
def test_a_camera_that_says_no_times_is_followed_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endless: bool, step_s: float
) -> None:
    """Motion JPEG has no time stamps, and FFmpeg invents some: 25 frames a second, however many come."""
    arrivals = count(7.0, 0.1)
    monkeypatch.setattr(frame_times, "time", SimpleNamespace(monotonic=lambda: next(arrivals)))
    with av.open(str(write(tmp_path / "a.mjpeg", STEADY[:20], codec="mjpeg"))) as container:
        stream = container.streams.video[0]
        placed = FrameTimes(stream, endless=endless)
        found = []
        for packet in container.demux(stream):
            placed.fed(packet)
            found += [placed.place(frame) for frame in packet.decode()]
    assert found == pytest.approx([index * step_s for index in range(20)])


@pytest.mark.parametrize("b_frames", [0, 1, 3, 7])
@pytest.mark.parametrize("name", ["a.avi", "a.mkv", "a.mp4", "a.ts", "a.flv", "a.h264"])
def test_steady(tmp_path: Path, name: str, b_frames: int) -> None:
    check(write(tmp_path / name, STEADY, b_frames=b_frames), STEADY)


def in_packet_order() -> Callable[[Any], None]:
    count = 0

    def change(packet: Any) -> None:
        nonlocal count
        packet.pts = packet.dts = round(count / FPS / packet.time_base)
        count += 1

    return change


@pytest.mark.parametrize("b_frames", [0, 1, 3, 7])
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.ts", "a.flv"])
def test_stamps_in_the_order_of_packets(tmp_path: Path, name: str, b_frames: int) -> None:
    check(write(tmp_path / name, STEADY, b_frames=b_frames, change=in_packet_order()), STEADY)


@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.ts"])
def test_variable_frame_rate(tmp_path: Path, name: str, b_frames: int) -> None:
    check(write(tmp_path / name, UNSTEADY, b_frames=b_frames), UNSTEADY)


@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize(("first_s", "second_s"), [(0, 5000), (5000, 0), (100, 130), (100, 99), (5000, 4990)])
def test_joined_broadcasts(tmp_path: Path, first_s: float, second_s: float, b_frames: int) -> None:
    parts = [
        write(tmp_path / f"{start_s}.ts", STEADY, b_frames=b_frames, start_s=start_s) for start_s in (first_s, second_s)
    ]
    clip = joined(tmp_path / "joined.ts", parts)
    check(clip, steadily(2 * FRAMES))
    key_frames_s = [0, 2, 4, 6, 8, 10, 12, 14]
    assert times(clip, Sampling("keyframes")) == pytest.approx(key_frames_s, abs=0.11)


@pytest.mark.parametrize("b_frames", [0, 3])
def test_the_clock_of_mpeg_wraps(tmp_path: Path, b_frames: int) -> None:
    check(write(tmp_path / "a.ts", STEADY, b_frames=b_frames, start_s=WRAP_S - 4), STEADY)


@pytest.mark.parametrize("start_s", [30.0, 0.5])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_a_film_that_starts_late(tmp_path: Path, start_s: float, name: str) -> None:
    check(write(tmp_path / name, STEADY, b_frames=3, start_s=start_s), STEADY)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling("fps", 5)])
def test_what_an_edit_list_cuts_off_is_neither_there_nor_missed(tmp_path: Path, sampling: Sampling) -> None:
    clip = write(tmp_path / "a.mp4", STEADY, b_frames=3, start_s=-1.0)
    with closing(VideoReader(SourceUri(str(clip)), sampling)) as reader:
        found = [picture.media_time_s for picture in reader.pictures()]
        assert reader.summary() is None
    assert found == pytest.approx(STEADY[: FRAMES - FPS][:: round(FPS / (sampling.fps or FPS))], abs=0.5 / FPS)


@pytest.mark.parametrize(("name", "codec"), [("a.gif", "gif"), ("a.avi", "mjpeg"), ("a.avi", "mpeg4")])
def test_other_codecs(tmp_path: Path, name: str, codec: str) -> None:
    check(write(tmp_path / name, STEADY, codec=codec), STEADY)


def test_pictures_without_any_time_have_a_usual_rate(tmp_path: Path) -> None:
    clip = write(tmp_path / "a.mjpeg", STEADY, codec="mjpeg", container="mjpeg")
    assert times(clip) == pytest.approx(steadily(FRAMES, fps=25))


@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("name", ["a.avi", "a.mkv", "a.ts", "a.h264"])
def test_key_frames(tmp_path: Path, name: str, b_frames: int) -> None:
    clip = write(tmp_path / name, STEADY, b_frames=b_frames)
    assert times(clip, Sampling("keyframes")) == pytest.approx([0, 2, 4, 6])


def test_key_frames_to_which_earlier_frames_refer_come_in_order_and_whole(tmp_path: Path) -> None:
    clip = write(tmp_path / "a.ts", STEADY, b_frames=3, gop="open-gop=1:keyint=20:min-keyint=20")
    with av.open(str(clip)) as container:
        stamps = [float(packet.pts * packet.time_base) for packet in container.demux(video=0) if packet.is_keyframe]
    assert times(clip, Sampling("keyframes")) == pytest.approx([stamp - stamps[0] for stamp in stamps])


def test_a_key_frame_that_the_decoder_does_not_give_costs_no_other(tmp_path: Path) -> None:
    def refuse(packet: None) -> list[Any]:
        context.decode(packet)
        reader._stream = stream
        raise av.error.InvalidDataError(1, "damaged")

    clip = write(tmp_path / "a.mp4", STEADY, b_frames=3)
    with closing(VideoReader(SourceUri(str(clip)), Sampling("keyframes"))) as reader:
        pictures, stream = reader.pictures(), reader._stream
        next(pictures)
        context = stream.codec_context
        broken = SimpleNamespace(has_b_frames=True, decode=refuse, flush_buffers=context.flush_buffers)
        reader._stream = SimpleNamespace(codec_context=broken)
        assert [picture.media_time_s for picture in pictures] == pytest.approx([4, 6])
        assert reader.summary() == "packets that could not be decoded: 1"
