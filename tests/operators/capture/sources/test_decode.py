from __future__ import annotations

import gc
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from operators.capture.picture import Picture
from operators.capture.sources import decode, opening
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.common.tensors import Image
from serving.errors import SourceError
from tests.operators.capture.clips import make_clip, make_sound, moving
from tests.operators.capture.stamped_clips import joined, steadily, write
from tests.real.http_files import serve_files


def read(
    path: Path, sampling: Sampling | None = None, max_width: int | None = None
) -> tuple[list[Picture], str | None]:
    with closing(VideoReader(SourceUri(str(path)), sampling or Sampling(), max_width)) as reader:
        return list(reader.pictures()), reader.summary()


def refused(path: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return caught.value


def test_a_decoded_frame_is_let_go_without_a_search_for_garbage(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=24)
    with closing(VideoReader(SourceUri(str(clip)), Sampling(), None)) as reader:
        gc.collect()
        gc.disable()
        try:
            kept = [sum(type(each) is av.VideoFrame for each in gc.get_objects()) for _ in reader.pictures()]
        finally:
            gc.enable()
    assert len(kept) == 24
    assert kept[-1] - kept[0] < 12


def test_all_frames_in_order_with_their_times(tmp_path: Path) -> None:
    pictures, summary = read(make_clip(tmp_path / "a.mp4", frames=24, fps=12))
    assert [picture.media_time_s for picture in pictures] == pytest.approx([k / 12 for k in range(24)])
    for index in (0, 7, 23):
        difference = np.abs(pictures[index].image.astype(int) - moving(index))
        assert difference.mean() < 5
    assert all(picture.decode_ms > 0 for picture in pictures)
    captured = [picture.captured_s for picture in pictures]
    assert captured == sorted(captured)
    assert summary is None


@pytest.mark.parametrize("codec", ["libx264", "libvpx", "libvpx-vp9"])
def test_fps_and_keyframes(tmp_path: Path, codec: str) -> None:
    clip = make_clip(tmp_path / "a.mkv", frames=48, fps=12, codec=codec, keyframe_every=12)
    assert len(read(clip, Sampling("fps", 3))[0]) == 12
    pictures, summary = read(clip, Sampling("keyframes"))
    assert [picture.media_time_s for picture in pictures] == pytest.approx([0, 1, 2, 3])
    assert summary is None


def test_frames_that_nobody_needs_are_not_decoded(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=100, fps=25, keyframe_every=50)
    every, _ = read(clip)
    with closing(VideoReader(SourceUri(str(clip)), Sampling("fps", 5))) as reader:
        sampled, summary = list(reader.pictures()), reader.summary()
    assert [picture.media_time_s for picture in sampled] == pytest.approx([k / 5 for k in range(20)])
    for picture, same in zip(sampled, every[::5], strict=True):
        assert np.array_equal(picture.image, same.image)
    assert reader.decoded < 80
    assert summary is None


def test_frames_to_which_others_refer_are_decoded(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=50, fps=25, codec="mpeg4")
    with closing(VideoReader(SourceUri(str(clip)), Sampling("fps", 5))) as reader:
        assert len(list(reader.pictures())) == 10
    assert reader.decoded == 50


def test_frames_that_were_left_out_on_purpose_hide_no_loss(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=100, fps=25, keyframe_every=50)
    content = bytearray(clip.read_bytes())
    half = len(content) // 2
    content[half : half + 600] = bytes(600)
    clip.write_bytes(content)
    _, summary = read(clip, Sampling("fps", 5))
    assert summary is not None


def test_progress_is_told_for_frames_that_are_not_sampled(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=24)
    for sampling in (Sampling("fps", 1), Sampling("keyframes")):
        beats: list[int] = []
        with closing(VideoReader(SourceUri(str(clip)), sampling)) as reader:
            assert len(list(reader.pictures(lambda beats=beats: beats.append(1)))) == 2  # type: ignore[misc]
        assert len(beats) >= 24


def test_progress_is_told_until_a_stream_that_is_joined_between_key_frames_has_one(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.h264", frames=40, keyframe_every=20)
    units = [b"\0\0\1" + unit.rstrip(b"\0") for unit in clip.read_bytes().split(b"\0\0\1")[1:]]
    headers = [unit for unit in units if unit[3] & 31 in (7, 8)][:2]
    shown = [unit for unit in units if unit[3] & 31 in (1, 5)]
    assert [place for place, unit in enumerate(shown) if unit[3] & 31 == 5] == [0, 20]
    told: list[int] = []
    with (
        serve_files({"/live": b"".join([*headers, *shown[1:]])}, announce_length=False) as server,
        closing(VideoReader(SourceUri(f"{server.url}/live"), Sampling())) as reader,
    ):
        assert not reader.finite
        next(reader.pictures(lambda: told.append(reader.decoded)))
    assert told.count(0) >= 19


def test_larger_frames_are_scaled_down(tmp_path: Path) -> None:
    pictures, _ = read(make_clip(tmp_path / "a.mp4", frames=3), max_width=48)
    assert {picture.image.shape for picture in pictures} == {(32, 48, 3)}


def test_frames_beyond_the_bound_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=3)
    assert len(read(clip)[0]) == 3
    monkeypatch.setattr(decode, "MAX_PIXELS", 96 * 64 - 1)
    assert refused(clip).reason == "too_large"


def test_the_decoder_itself_keeps_to_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=3)
    data = clip.read_bytes()
    at = data.index(b"avc1", data.index(b"stsd")) + 28
    assert data[at : at + 4] == struct.pack(">HH", 96, 64)
    clip.write_bytes(data[:at] + struct.pack(">HH", 16, 16) + data[at + 4 :])  # the header lies about the size
    for module in (decode, opening):
        monkeypatch.setattr(module, "MAX_PIXELS", 32 * 32)
    assert refused(clip).reason in ("too_large", "decode_error")


@pytest.mark.parametrize(
    ("matrix", "shown"),
    [
        ((0, 1, -1, 0), lambda image: np.rot90(image, k=-1)),
        ((0, -1, 1, 0), np.rot90),
        ((-1, 0, 0, -1), lambda image: np.rot90(image, k=2)),
        ((-1, 0, 0, 1), np.fliplr),
        ((1, 0, 0, -1), np.flipud),
        ((0, 1, 1, 0), lambda image: image.swapaxes(0, 1)),
        ((0, -1, -1, 0), lambda image: np.rot90(image, k=2).swapaxes(0, 1)),
        ((0.03, 0.99, -0.99, 0.03), lambda image: np.rot90(image, k=-1)),
        ((0, 0, 0, 0), lambda image: image),
    ],
)
def test_a_phone_clip_stands_as_its_matrix_says(
    tmp_path: Path, matrix: tuple[float, ...], shown: Callable[[Image], Image]
) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=2)
    data = bytearray(clip.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    xx, xy, yx, yy = (round(0x10000 * part) for part in matrix)
    data[at : at + 20] = struct.pack(">5i", xx, xy, 0, yx, yy)
    clip.write_bytes(data)
    pictures, _ = read(clip)
    upright = shown(moving(0))
    assert pictures[0].image.shape == upright.shape
    assert pictures[0].image.flags.c_contiguous
    assert np.abs(pictures[0].image.astype(int) - upright).mean() < 5
    height, width = (round(each / 2) for each in upright.shape[:2])
    assert read(clip, max_width=width)[0][0].image.shape == (height, width, 3)


@pytest.mark.parametrize(("matrix", "shape"), [((1, 0, 0, 1), (64, 192, 3)), ((0, 1, -1, 0), (192, 64, 3))])
def test_a_clip_of_wide_pixels_is_as_wide_as_it_is_shown(
    tmp_path: Path, matrix: tuple[float, ...], shape: tuple[int, ...]
) -> None:
    clip = tmp_path / "a.mp4"
    with av.open(str(clip), "w") as container:
        stream = container.add_stream("libx264", rate=12, width=96, height=64, pix_fmt="yuv420p")
        stream.codec_context.sample_aspect_ratio = Fraction(2)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(moving(0), format="bgr24")))
        container.mux(stream.encode(None))
    data = bytearray(clip.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    xx, xy, yx, yy = (round(0x10000 * part) for part in matrix)
    data[at : at + 20] = struct.pack(">5i", xx, xy, 0, yx, yy)
    clip.write_bytes(data)
    assert read(clip)[0][0].image.shape == shape


def test_missing_unreadable_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty.mp4"
    empty.touch()
    assert refused(tmp_path / "none.mp4").reason == "not_found"
    assert refused(empty / "below-a-file.mp4").reason == "not_found"
    assert refused(empty).reason == "empty"
    assert refused(Path("/dev/null")).reason == "unreadable"
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe").reason == "unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_permission_denied(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=2)
    clip.chmod(0)
    assert refused(clip).reason == "unreadable"


def test_what_is_no_video(tmp_path: Path) -> None:
    random_bytes = tmp_path / "random.mp4"
    random_bytes.write_bytes(np.random.default_rng(0).bytes(50_000))
    assert refused(random_bytes).reason == "corrupt"
    headless = tmp_path / "headless.mp4"  # the index of an MP4 stands at its end
    headless.write_bytes(make_clip(tmp_path / "a.mp4").read_bytes()[:-600])
    assert refused(headless).reason == "corrupt"
    assert refused(make_sound(tmp_path / "song.m4a")).reason == "no_video"


def test_codec_without_decoder(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=3)
    clip.write_bytes(clip.read_bytes().replace(b"avc1", b"zzzz"))
    assert refused(clip).reason == "codec_unsupported"


def test_a_clip_that_ends_early_says_so(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=48)
    faststart = tmp_path / "b.mp4"
    with av.open(str(clip)) as source, av.open(str(faststart), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    data = faststart.read_bytes()
    faststart.write_bytes(data[: len(data) * 3 // 4])
    pictures, summary = read(faststart)
    assert 0 < len(pictures) < 48
    assert summary is not None
    assert f"{len(pictures)} of the 48 frames" in summary


def test_a_clip_without_frame_count_that_ends_early_says_so(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mkv", frames=120)
    data = clip.read_bytes()
    clip.write_bytes(data[: len(data) // 2])
    _, summary = read(clip)
    assert summary is not None
    assert "of the 10.0 s its header promises" in summary


def test_a_clock_that_jumps_promises_no_length(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"{start_s}.ts", steadily(20), start_s=start_s) for start_s in (900.0, 5.0, 900.0)]
    pictures, summary = read(joined(tmp_path / "joined.ts", parts))
    assert (len(pictures), summary) == (60, None)


@pytest.mark.parametrize("codec", ["mpeg2video", "mpeg4"])
def test_a_broadcast_that_goes_on_in_another_codec_says_where(tmp_path: Path, codec: str) -> None:
    parts = [make_clip(tmp_path / f"{name}.ts", frames=60, codec=name) for name in ("libx264", codec)]
    _, summary = read(joined(tmp_path / "joined.ts", parts))
    assert re.search(r"none could be after 4\.[5-9] s", summary or "")


def test_damage_inside_costs_only_the_frames_it_hits(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=60, codec="mpeg4")
    data = bytearray(clip.read_bytes())
    for position in range(len(data) // 3, len(data) // 2, 7):
        data[position] ^= 0xFF
    clip.write_bytes(data)
    pictures, summary = read(clip)
    assert len(pictures) > 30
    assert summary is not None


def test_real_clips(data_dir: Path) -> None:
    pictures, summary = read(data_dir / "videos" / "car-detection.mp4", Sampling("fps", 1), max_width=320)
    assert (len(pictures), pictures[0].image.shape, summary) == (31, (180, 320, 3), None)
    pictures, summary = read(data_dir / "videos" / "person-bicycle-car-detection.mp4")  # without 8 that are cut off
    assert (len(pictures), summary) == (459, None)


REFUSED = """
import resource, sys
from pathlib import Path
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
reader = VideoReader(SourceUri(sys.argv[1]), Sampling())
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, used + 2**20))
try:
    next(reader.pictures())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_decoder_that_is_refused_memory_or_threads_is_no_damaged_video(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", draw=lambda index: moving(index, 640, 360))
    ran = subprocess.run([sys.executable, "-c", REFUSED, str(clip)], capture_output=True, text=True, cwd=Path.cwd())
    assert ran.stdout == f"SourceError {clip}: its decoder was refused memory or threads: give the process more\n"
