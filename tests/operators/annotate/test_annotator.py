"""Annotated videos and snapshots, read back."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from operators.annotate import annotator as pictures
from operators.annotate.annotator import Annotator
from operators.wire.schema import Result
from serving.errors import BadInput, SluiceError
from tests.operators.publish.messages import picture, result, thing
from tests.real.process import until
from tests.small_disk import files_of_at_most


def annotate(target: Path, results: list[Result], streams: tuple[str, ...] = ("yard",), **size: int) -> Annotator:
    annotator = Annotator(target, streams)
    for each in results:
        annotator.observe(picture(each, **size), each)
    annotator.close()
    return annotator


def times(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        return [round(float(frame.time), 3) for frame in container.decode(video=0)]


def test_frames_stand_at_their_media_time(tmp_path: Path) -> None:
    annotate(tmp_path / "out.mp4", [result(seq, media_time_s=at) for seq, at in enumerate([0.0, 0.08, 0.5, 2.0])])
    assert times(tmp_path / "out.mp4") == [0.0, 0.08, 0.5, 2.0]


def test_sizes_are_made_even_and_kept(tmp_path: Path) -> None:
    annotator = Annotator(tmp_path / "out.mp4", ["yard"])
    for seq, (width, height) in enumerate([(65, 49), (64, 48), (130, 99)]):
        annotator.observe(picture(result(seq), width, height), result(seq))
    annotator.close()
    with av.open(str(tmp_path / "out.mp4")) as container:
        sizes = {(frame.width, frame.height, frame.format.name) for frame in container.decode(video=0)}
    assert sizes == {(64, 48, "yuv420p")}


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 48), (64, 1)])
def test_a_side_of_one_pixel_is_shown_by_two(tmp_path: Path, width: int, height: int) -> None:
    annotate(tmp_path / "out.mp4", [result(seq) for seq in range(3)], width=width, height=height)
    with av.open(str(tmp_path / "out.mp4")) as container:
        sizes = [(frame.width, frame.height) for frame in container.decode(video=0)]
    assert sizes == [(max(width, 2), max(height, 2))] * 3


def test_a_second_run_follows_the_first(tmp_path: Path) -> None:
    runs = [result(0, run="a"), result(1, run="a"), result(0, run="b"), result(1, run="b")]
    annotate(tmp_path / "out.mkv", runs)
    assert times(tmp_path / "out.mkv") == [0.0, 0.1, 0.14, 0.24]


@pytest.mark.parametrize("suffix", pictures.VIDEO_SUFFIXES)
def test_what_a_killed_process_leaves_can_be_played(tmp_path: Path, suffix: str) -> None:
    writer, left = pictures.VideoWriter(tmp_path / f"out{suffix}"), tmp_path / f"left{suffix}"
    rng = np.random.default_rng(1)
    for seq in range(100):
        writer.add(rng.integers(0, 256, (120, 160, 3), np.uint8), result(seq, media_time_s=0.2 * seq))
    left.write_bytes((tmp_path / f"out{suffix}").read_bytes())  # as it lies on the disk, not closed
    writer.close()
    seen = 0
    with av.open(str(left)) as container, suppress(av.error.InvalidDataError):  # the last frame may be cut
        for _ in container.decode(video=0):
            seen += 1
    assert seen >= 50
    assert len(times(tmp_path / f"out{suffix}")) == 100


def test_a_repeated_time_does_not_break_the_video(tmp_path: Path) -> None:
    annotate(tmp_path / "out.mp4", [result(seq, media_time_s=1.0) for seq in range(3)])
    assert len(times(tmp_path / "out.mp4")) == 3


def test_a_video_that_another_run_writes_is_refused_and_stays_whole(tmp_path: Path) -> None:
    first = pictures.VideoWriter(tmp_path / "out.mp4")
    first.add(np.zeros((48, 64, 3), np.uint8), result(0))
    second = Annotator(tmp_path / "out.mp4", ["yard"])
    second.observe(picture(result(0)), result(0))
    with pytest.raises(BadInput, match=r"^cannot write pictures to \S*out\.mp4: another process writes there; choose"):
        second.close()
    first.close()
    assert len(times(tmp_path / "out.mp4")) == 1


def test_mpeg4_where_there_is_no_h264_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "ENCODERS", ("no-such-encoder", "mpeg4"))
    annotate(tmp_path / "out.mp4", [result(seq) for seq in range(5)])
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "mpeg4"
    assert len(times(tmp_path / "out.mp4")) == 5


def test_each_of_several_streams_has_its_video(tmp_path: Path) -> None:
    results = [result(0, stream="yard"), result(0, stream="gate"), result(1, stream="yard")]
    annotate(tmp_path / "out.mp4", results, ("yard", "gate"))
    assert len(times(tmp_path / "out-yard.mp4")) == 2
    assert len(times(tmp_path / "out-gate.mp4")) == 1


def test_a_directory_takes_snapshots_of_frames_with_objects(tmp_path: Path) -> None:
    annotate(tmp_path / "shots", [result(0), result(1, thing(1)), result(12, thing(1))])
    assert sorted(path.name for path in (tmp_path / "shots").iterdir()) == ["yard-000001.jpg", "yard-000012.jpg"]
    assert cv2.imread(str(tmp_path / "shots" / "yard-000001.jpg")).shape == (48, 64, 3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.gif", r"cannot annotate to .*out.gif: give a video \(.mp4, .mkv, .mov\) or a directory for snapshots"),
        ("none/out.mp4", "there is no directory .*none"),
        ("none/shots", "there is no directory .*none"),
    ],
)
def test_a_target_that_cannot_be_is_bad_input(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Annotator(tmp_path / name, ["yard"])


def test_a_directory_without_permission_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # to root nothing is forbidden
    with pytest.raises(BadInput, match="no permission to write in"):
        Annotator(tmp_path / "out.mp4", ["yard"])


def test_a_full_disk_ends_in_one_line_while_frames_go_on(tmp_path: Path) -> None:
    (tmp_path / "out.mkv").symlink_to("/dev/full")
    annotator = Annotator(tmp_path / "out.mkv", ["yard"])
    for seq in range(200):
        annotator.observe(picture(result(seq), 320, 240, grey=seq), result(seq))
    with pytest.raises(SluiceError, match=r"cannot write .*out.mkv: No space left on device"):
        annotator.close()
    with pytest.raises(SluiceError, match="No space left on device"):
        annotator.write(result(200))


@pytest.mark.parametrize("suffix", pictures.VIDEO_SUFFIXES)
def test_what_a_disk_has_that_became_full_can_be_played(tmp_path: Path, suffix: str) -> None:
    """It does so in the middle of the third part's index."""
    path = tmp_path / f"out{suffix}"

    def write() -> Annotator:
        rng, annotator = np.random.default_rng(1), Annotator(path, ["yard"])
        for seq in range(100):
            found = result(seq, media_time_s=0.2 * seq)
            shown = picture(found, 160, 120)
            annotator.observe(replace(shown, pixels=rng.integers(0, 256, shown.pixels.shape, np.uint8)), found)
        return annotator

    writer = write()
    until(lambda: writer._queue.empty(), "the pictures are written")
    index = 0
    for _ in range(3):
        index = path.read_bytes().find(b"moof", index + 1)
    writer.close()
    with files_of_at_most(index + 200 if index > 0 else 300_000):
        writer = write()
        with pytest.raises(SluiceError, match=r"^cannot write \S*out\.\w+: File too large$"):
            writer.close()
    assert len(times(path)) >= 10


def test_a_video_that_somebody_has_removed_is_told(tmp_path: Path) -> None:
    annotator = Annotator(tmp_path / "out.mp4", ["yard"])
    annotator.observe(picture(result(0), 64, 48), result(0))
    until(lambda: (tmp_path / "out.mp4").exists(), "the video is begun")
    (tmp_path / "out.mp4").unlink()
    annotator.observe(picture(result(1), 64, 48), result(1))
    with pytest.raises(SluiceError, match=r"^cannot write \S*out\.mp4: somebody has removed it$"):
        annotator.close()


def test_a_snapshot_for_which_the_disk_has_no_room_is_not_there(tmp_path: Path) -> None:
    annotator = Annotator(tmp_path, ["yard"])
    with files_of_at_most(100):
        annotator.observe(picture(result(0), 64, 48), result(0, thing(1)))
        with pytest.raises(SluiceError, match="File too large"):
            annotator.close()
    assert list(tmp_path.iterdir()) == []


def test_results_without_pictures_add_nothing(tmp_path: Path) -> None:
    annotator = Annotator(tmp_path / "out.mp4", ["yard"])
    annotator.write(result(0, outcome="dropped", cause="queue_full"))
    annotator.close()
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_another_shape_is_shown_whole_and_not_stretched(tmp_path: Path) -> None:
    annotator = Annotator(tmp_path / "out.mp4", ["yard"])
    annotator.observe(picture(result(0), 320, 180), result(0))
    portrait = picture(result(1), 180, 320)
    cv2.circle(portrait.image, (90, 160), 60, (255, 255, 255), cv2.FILLED)
    annotator.observe(portrait, result(1))
    annotator.close()
    with av.open(str(tmp_path / "out.mp4")) as container:
        *_, last = (frame.to_ndarray(format="gray") for frame in container.decode(video=0))
    across, down = ((last > 200).any(axis=axis).nonzero()[0] for axis in (0, 1))
    assert abs(np.ptp(across[across > 100]) - np.ptp(down[down > 40])) <= 4, "a circle stays one"
    assert last[90, :100].max() < 40
