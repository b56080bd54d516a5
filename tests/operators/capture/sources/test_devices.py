from __future__ import annotations

from contextlib import closing
from pathlib import Path

import av
import av.error
import numpy as np
import pytest

from operators.capture.picture import Picture
from operators.capture.sources import devices
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.devices import choose_device, opened
from operators.capture.sources.hardware import Hardware
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from tests.operators.capture.clips import make_clip
from tests.operators.capture.fake_device import EXTERNAL, FakeDevice


def chosen(wanted: str) -> tuple[str, list[str]]:
    told: list[str] = []
    hardware = Hardware(wanted, told.append)
    choose_device(hardware)
    return hardware.wanted, told


def test_this_machine_has_a_device_or_says_why_not() -> None:
    wanted, told = chosen("cuda")
    assert wanted == "cuda" if not told else (wanted == "none" and told[0].startswith("cuda cannot be opened ("))


def test_a_device_that_ffmpeg_was_built_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(self: object, codec: av.Codec) -> None:
        raise NotImplementedError(f"No supported hardware config for {codec}")

    FakeDevice().install(monkeypatch.setattr)
    monkeypatch.setattr(devices.HWAccel, "create", create)
    assert chosen("vaapi") == ("none", ["vaapi cannot be opened (this build of FFmpeg does not know it)"])


def test_software_tries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDevice(refuses=("vaapi", "cuda")).install(monkeypatch.setattr)
    assert chosen("none") == ("none", [])


def test_auto_takes_the_first_that_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDevice(refuses=("vaapi",)).install(monkeypatch.setattr)
    assert chosen("auto") == ("cuda", [])
    FakeDevice(refuses=("vaapi", "cuda")).install(monkeypatch.setattr)
    assert chosen("auto") == (
        "none",
        ["vaapi cannot be opened (Operation not permitted); cuda cannot be opened (Operation not permitted)"],
    )
    monkeypatch.setattr(devices, "hwdevices_available", lambda: ["qsv"])
    assert chosen("auto") == ("none", ["this build of FFmpeg knows no device"])


def read(clip: Path, told: list[str], sampling: Sampling | None = None, wanted: str = "cuda") -> list[Picture]:
    hardware = Hardware(wanted, told.append)
    with closing(VideoReader(SourceUri(str(clip)), sampling or Sampling(), hardware=hardware)) as reader:
        pictures = list(reader.pictures())
        assert reader.summary() is None
    return pictures


def same(pictures: list[Picture], others: list[Picture]) -> bool:
    assert [each.media_time_s for each in pictures] == [each.media_time_s for each in others]
    return all(np.array_equal(a.image, b.image) for a, b in zip(pictures, others, strict=True))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling("fps", 3), Sampling("keyframes")])
def test_a_device_gives_the_pictures_of_software(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampling: Sampling
) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=48)
    expected = read(clip, [], sampling, "none")
    device = FakeDevice().install(monkeypatch.setattr)
    told: list[str] = []
    assert same(read(clip, told, sampling), expected)
    assert (device.opens, told) == (["cuda"], [])
    (stream,) = device.streams
    assert "FRAME" not in str(stream.thread_type)


def test_a_codec_that_it_does_not_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = make_clip(tmp_path / "a.mp4")
    device = FakeDevice(knows_codec=False).install(monkeypatch.setattr)
    told: list[str] = []
    assert len(read(clip, told)) == 24
    assert (device.opens, told) == (["cuda"], ["cuda does not decode h264"])


def test_a_profile_that_it_does_not_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = make_clip(tmp_path / "a.mp4")
    expected = read(clip, [], wanted="none")
    for leaves_from in (0, 12):
        FakeDevice(leaves_from=leaves_from).install(monkeypatch.setattr)
        told: list[str] = []
        assert same(read(clip, told), expected)
        assert told == ["cuda does not decode this h264 (yuv420p)"]


def test_a_device_that_is_lost_between_trial_and_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = make_clip(tmp_path / "a.mp4")
    device = FakeDevice(lost=True).install(monkeypatch.setattr)
    told: list[str] = []
    assert len(read(clip, told)) == 24
    assert device.opens == ["cuda", None]
    assert told == ["cuda cannot be opened (Generic error in an external library)"]


def test_a_source_that_refuses_is_not_asked_again_without_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDevice().install(monkeypatch.setattr)
    asked: list[object] = []

    def refuse(hwaccel: object) -> None:
        asked.append(hwaccel)
        raise av.error.HTTPUnauthorizedError(EXTERNAL.errno, "401 Unauthorized", "http://camera/x")

    told: list[str] = []
    with pytest.raises(av.error.HTTPUnauthorizedError):
        opened(refuse, Hardware("cuda", told.append))
    assert (len(asked), told) == (1, [])


def test_errors_of_sources_name_the_source(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"\0" * 4096)
    for name in ("a.mp4", "none.mp4"):
        with pytest.raises(av.error.FFmpegError) as caught:
            av.open(str(tmp_path / name))
        assert caught.value.filename
