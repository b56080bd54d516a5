"""A run that was broken off goes on with the frames, numbers and times that it would have had."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from operators.capture.lead_in import LeadIn, PlaceLost, Resumption
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from serving.errors import SourceError
from tests.operators.capture.clips import make_clip
from tests.operators.capture.recorder import record
from tests.operators.capture.stamped_clips import steadily, write

CLIPS = [("a.mp4", "libx264"), ("a.mkv", "libx264"), ("a.h264", "libx264"), ("a.ts", "libx264"), ("a.avi", "mpeg4")]
"""With an index, with another, without stamps, with a clock that may jump, without presentation stamps."""
SAMPLINGS = [Sampling(), Sampling("fps", 5), Sampling("keyframes")]


def places(frames: list[Frame]) -> list[tuple[int, float]]:
    return [(each.seq, each.media_time_s) for each in frames]


def resumed(spec: CaptureSpec, whole: list[Frame], after: int, lead: int = 3) -> CaptureSpec:
    last = whole[max(0, after - lead) : after]
    return replace(spec, resumed=Resumption("again", {each.media_time_s: each.seq for each in last}))


@pytest.mark.parametrize(("name", "codec"), CLIPS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("gated", [False, True])
def test_the_rest_of_a_run_is_that_of_the_whole(
    tmp_path: Path, name: str, codec: str, sampling: Sampling, gated: bool
) -> None:
    clip = make_clip(tmp_path / name, frames=96, codec=codec)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(clip)), sampling=sampling, motion_gate=gated)
    whole = record(spec).frames
    for after in {1, len(whole) // 2, len(whole) - 1}:
        recorder = record(resumed(spec, whole, after))
        assert recorder.error is None
        rest = whole[max(0, after - 3) :]
        assert places(recorder.frames) == places(rest)
        assert {each.run for each in recorder.frames} == {"again"}
        for frame, same in zip(recorder.frames, rest, strict=True):
            assert np.array_equal(frame.image, same.image)


@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("start_s", [0.0, 7.3])
def test_a_reordering_decoder_and_a_clock_that_begins_late_do_not_matter(
    tmp_path: Path, b_frames: int, start_s: float
) -> None:
    clip = write(tmp_path / "a.mp4", steadily(90), b_frames=b_frames, start_s=start_s)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(clip)))
    whole = record(spec).frames
    for after in (5, 47, 60):
        assert places(record(resumed(spec, whole, after)).frames) == places(whole[after - 3 :])


def test_a_recording_with_an_index_is_not_decoded_from_its_beginning(tmp_path: Path) -> None:
    uri = SourceUri(str(make_clip(tmp_path / "a.mp4", frames=120)))
    with closing(VideoReader(uri, Sampling(), from_s=8.0)) as reader:
        times_s = [each.media_time_s for each in reader.pictures()]
        assert reader.summary() is None
    assert times_s[0] == 0.0
    assert times_s[-1] == pytest.approx(119 / 12)
    assert len(times_s) < 60
    assert 8.0 in times_s


def test_a_folder_of_pictures_goes_on(tmp_path: Path, data_dir: Path) -> None:
    for number, file in enumerate(sorted((data_dir / "images" / "coco128_val").glob("*.jpg"))[:6]):
        (tmp_path / f"{number}.jpg").symlink_to(file)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(tmp_path)), max_width=64)
    whole = record(spec).frames
    assert places(record(resumed(spec, whole, 4)).frames) == places(whole[1:])


def test_a_chunk_ends_before_the_frame_of_its_end(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=36)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(clip)), resumed=Resumption("run", until_s=1.0))
    assert record(spec).seqs == list(range(12))


def test_a_run_that_is_done_hands_nothing_new_on(tmp_path: Path) -> None:
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(make_clip(tmp_path / "a.mp4"))))
    whole = record(spec).frames
    assert record(resumed(spec, whole, len(whole), lead=1)).seqs == [23]


@pytest.mark.parametrize("time_s", [0.5001, 99.0])
def test_a_recording_without_the_last_frame_is_another_one(tmp_path: Path, time_s: float) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=36)
    spec = CaptureSpec(stream="gate", uri=SourceUri(str(clip)), resumed=Resumption("run", {time_s: 6}))
    recorder = record(spec)
    assert isinstance(recorder.error, SourceError)
    assert str(recorder.error) == f"{clip}: it is not what it was: no frame at {time_s:.3f} s"


def test_only_the_run_of_a_recording_can_go_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only the run of a recording"):
        CaptureSpec(stream="gate", uri=SourceUri("rtsp://camera/1"), resumed=Resumption("run"))
    with pytest.raises(ValueError, match="not looped"):
        CaptureSpec(stream="gate", uri=SourceUri("a.mp4"), loop=True, resumed=Resumption("run"))


def test_a_lead_in_says_which_frames_it_knows() -> None:
    lead_in = LeadIn({1.0: 4, 1.2: 5})
    assert (lead_in.from_s, lead_in.next_seq) == (1.0, 6)
    assert [lead_in.covers(time_s) for time_s in (0.5, 1.2, 1.3)] == [True, True, False]
    assert [lead_in.seq(time_s) for time_s in (0.5, 1.0, 1.1)] == [None, 4, None]
    with pytest.raises(PlaceLost):
        lead_in.over()
    assert lead_in.seq(1.2) == 5
    lead_in.over()
    LeadIn({}).over()
