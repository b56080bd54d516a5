"""The clip writer: what it writes can be decoded, entered at every second, and fits its truth."""

from __future__ import annotations

import json
from pathlib import Path

import av
import pytest

from datasets.street.__main__ import main

ARGUMENTS = ["--seed", "2", "--duration-s", "3", "--fps", "6", "--width", "320", "--height", "180"]
CLIP = Path(__file__).resolve().parents[2] / "examples" / "street.mp4"


def test_a_clip_and_its_truth(tmp_path: Path) -> None:
    out, truth = tmp_path / "a.mp4", tmp_path / "a.jsonl"
    assert main(["--out", str(out), "--truth", str(truth), *ARGUMENTS]) == 0
    with av.open(str(out)) as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.width, stream.height) == ("h264", 320, 180)
        frames = list(file.decode(stream))
    assert len(frames) == 18
    assert [frame.key_frame for frame in frames] == [number % 6 == 0 for number in range(18)]
    assert [round(float(frame.time), 3) for frame in frames] == [round(number / 6, 3) for number in range(18)]
    lines = [json.loads(line) for line in truth.read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(18))
    assert any(line["objects"] for line in lines)
    assert set(lines[0]["objects"][0]) == {"id", "label", "box", "visible"}


def test_the_index_is_at_the_front(tmp_path: Path) -> None:
    out = tmp_path / "a.mp4"
    main(["--out", str(out), *ARGUMENTS])
    content = out.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_a_bad_option_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.mp4"
    assert main(["--out", str(out), "--light", "noon"]) == 2
    assert (
        capsys.readouterr().err == "street: error: street option light='noon': must be one of day, dusk, night, cycle\n"
    )
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "absent" / "a.mp4"), *ARGUMENTS]) == 2
    assert capsys.readouterr().err.startswith("street: error: ")


def test_the_shipped_clip() -> None:
    assert CLIP.stat().st_size < 1_500_000
    with av.open(str(CLIP)) as file:
        stream = file.streams.video[0]
        assert (stream.width, stream.height, float(stream.average_rate)) == (640, 360, 12.0)
        packets = [packet for packet in file.demux(stream) if packet.dts is not None]
    assert len(packets) == 240
    assert [number for number, packet in enumerate(packets) if packet.is_keyframe] == list(range(0, 240, 12))
    assert all(packet.pts == packet.dts for packet in packets), "B-frames would reorder"
