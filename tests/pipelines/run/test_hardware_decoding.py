"""``SLUICE_HWACCEL`` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.operators.capture.clips import make_clip
from tests.real.command import sluice

QUERY = """\
version: 1
name: clip
slo_ms: 5000
nodes:
  - {name: detect, task: detect, model: motion}
"""
WANTED = "sluice: stream a: decoded in software, although "


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.yaml"
    path.write_text(QUERY)
    return path


def objects(out: Path) -> list[object]:
    return [json.loads(line)["objects"] for line in out.read_text().splitlines()]


@pytest.mark.parametrize("wanted", ["auto", "cuda"])
def test_a_wish_that_cannot_be_met_costs_one_line_and_no_frame(query: Path, tmp_path: Path, wanted: str) -> None:
    # no device decodes FFV1, so that the line comes where there is one too
    clip = make_clip(tmp_path / "a.mkv", frames=24, codec="ffv1")
    outs = tmp_path / "software.jsonl", tmp_path / "wish.jsonl"
    software = sluice("run", query, "--source", clip, "--out", outs[0])
    assert (software.returncode, WANTED in software.stderr) == (0, False)
    wish = sluice("run", query, "--source", clip, "--out", outs[1], env={"SLUICE_HWACCEL": wanted})
    assert wish.returncode == 0, wish.stderr
    (line,) = [line for line in wish.stderr.splitlines() if line.startswith(WANTED)]
    assert line.startswith(f"{WANTED}{wanted} is wanted: ")
    assert objects(outs[0]) == objects(outs[1])
    assert len(objects(outs[1])) == 24


@pytest.mark.parametrize("command", [("run",), ("capture", "--broker", "kafka://127.0.0.1:1")])
def test_an_unknown_word_is_refused_before_anything_is_opened(query: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    done = sluice(name, query, *options, "--source", "no-such-file.mp4", env={"SLUICE_HWACCEL": "gpu"})
    assert done.returncode == 2
    assert done.stderr == (
        "sluice: error: SLUICE_HWACCEL is 'gpu': allowed are none, auto, cuda, vaapi, vdpau, vulkan, videotoolbox\n"
    )
