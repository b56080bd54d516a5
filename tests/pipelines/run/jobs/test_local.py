"""``sluice submit`` without a broker, as a process that is killed: every frame once, as ``sluice run`` has it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.run.test_run_query import write_clip
from tests.real.command import sluice
from tests.real.process import Sluice, until

QUERY = """
version: 1
name: test
slo_ms: 60000
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
"""
FRAMES = 400


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    for number in range(3):
        write_clip(folder / f"cam{number}.mp4", FRAMES + number)
    (tmp_path / "query.yaml").write_text(QUERY)
    return folder


def by_stream(lines: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for each in lines:
        media_time_s = each["frame"]["media_time_s"] if "frame" in each else each["media_time_s"]
        found.setdefault(each["stream"], []).append((each["seq"], media_time_s))
    return found


def read(out: Path) -> list[dict[str, Any]]:
    if out.is_dir():
        pq = pytest.importorskip("pyarrow.parquet")
        return [row for file in sorted(out.glob("part-*")) for row in pq.read_table(file).to_pylist()]
    return [json.loads(line) for line in out.read_text().splitlines()]


def whole(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What ``sluice run`` finds."""
    sources = [part for clip in sorted((folder / "archive").glob("*.mp4")) for part in ("--source", clip)]
    done = sluice("run", folder / "query.yaml", *sources, "--out", folder / "whole.jsonl")
    assert done.returncode == 0, done.stderr
    return by_stream(read(folder / "whole.jsonl"))


def size(out: Path) -> int:
    """Bytes of what is durable."""
    return sum(file.stat().st_size for file in ([out] if out.is_file() else out.glob("part-*")))


def submit(folder: Path, *more: object) -> tuple[object, ...]:
    return "submit", folder / "query.yaml", "--source", folder / "archive" / "*.mp4", *more


@pytest.mark.parametrize(("out", "at_once"), [("r.jsonl", 2), ("r.parquet", 1)])
def test_killed_five_times_it_has_every_frame_once(tmp_path: Path, archive: Path, out: str, at_once: int) -> None:
    if out == "r.parquet":
        for clip in archive.glob("*.mp4"):  # a part is written at a recording's end: have more of them
            for copy in "ab":
                (archive / f"{clip.stem}{copy}.mp4").write_bytes(clip.read_bytes())
    place, command = tmp_path / out, submit(tmp_path, "--out", tmp_path / out, "--at-once", at_once)
    for _ in range(5):
        before = size(place) if place.exists() else 0
        with Sluice(tmp_path / "killed", *command) as running:
            until(lambda before=before: place.exists() and size(place) > before, "results", running)
            running.kill()
        assert running.process.returncode == -signal.SIGKILL
    done = sluice(*command)
    assert done.returncode == 0, done.stderr
    assert by_stream(read(place)) == whole(tmp_path)
    again = sluice(*command)
    assert ", 0 new results in" in again.stderr


def test_interrupted_it_says_so_and_goes_on(tmp_path: Path, archive: Path) -> None:
    command = submit(tmp_path, "--out", tmp_path / "r.jsonl")
    with Sluice(tmp_path / "stopped", *command) as running:
        until(lambda: (tmp_path / "r.jsonl").exists() and size(tmp_path / "r.jsonl"), "results", running)
        assert running.terminate() == 130
    assert "the same command goes on" in running.errors
    assert sluice(*command).returncode == 0
    assert by_stream(read(tmp_path / "r.jsonl")) == whole(tmp_path)


def test_a_file_that_cannot_be_read_costs_itself_alone(tmp_path: Path, archive: Path) -> None:
    (archive / "cam1.mp4").write_bytes(b"no video")
    done = sluice(*submit(tmp_path, "--out", tmp_path / "r.jsonl"))
    assert done.returncode == 2
    assert f"not read to its end: {archive}/cam1.mp4: not a video, or damaged" in done.stderr
    assert done.stderr.endswith("sluice: error: 1 of 3 recordings could not be read to their end\n")
    assert {stream: len(found) for stream, found in by_stream(read(tmp_path / "r.jsonl")).items()} == {
        "cam0": FRAMES,
        "cam2": FRAMES + 2,
    }


def test_another_query_or_recording_is_refused_until_it_begins_anew(tmp_path: Path, archive: Path) -> None:
    for clip in archive.glob("cam[12].mp4"):
        clip.unlink()
    command = submit(tmp_path, "--out", tmp_path / "r.jsonl")
    assert sluice(*command).returncode == 0
    before = (tmp_path / "r.jsonl").read_bytes()
    (tmp_path / "query.yaml").write_text(QUERY + "accuracy: 0.5\n")
    refused = sluice(*command)
    assert refused.returncode == 2
    assert "stream cam0 was analysed by another query, or other models" in refused.stderr
    (tmp_path / "query.yaml").write_text(QUERY)
    write_clip(archive / "cam0.mp4", 10)
    refused = sluice(*command)
    assert refused.returncode == 2
    assert "cam0.mp4 is not the recording that was analysed as cam0: choose another --out, or --anew" in refused.stderr
    assert (tmp_path / "r.jsonl").read_bytes() == before
    assert sluice(*command, "--anew").returncode == 0
    assert len(read(tmp_path / "r.jsonl")) == 10


def test_a_recording_that_comes_between_two_of_its_name_is_told_why_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "query.yaml").write_text(QUERY)
    for number, camera in enumerate("acb"):
        folder = tmp_path / "archive" / camera
        folder.mkdir(parents=True)
        write_clip(folder / "001.mp4", 10 + number)
        if camera != "a":
            source = "--source", tmp_path / "archive/*/001.mp4", "--out", tmp_path / "r.jsonl"
            done = sluice("submit", tmp_path / "query.yaml", *source)
    assert done.returncode == 2
    assert "b/001.mp4 is not the recording that was analysed as 001-2 (recordings of one name are" in done.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "say where results go"),
        (("--source", "rtsp://camera/1", "--out", "r.jsonl"), "a camera has no end"),
        (("--source", "none/*.mp4", "--out", "r.jsonl"), "no file is called so"),
        (("--out", "r.jsonl"), "the query has no streams"),
        (("--source", "query.yaml", "--archive", ".", "--out", "r.jsonl"), "no broker given"),  # workers have archives
        (
            ("--source", "query.yaml", "--archive", ".", "--out", "r.jsonl", "--anew"),
            "--anew loses results that are here",
        ),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    (tmp_path / "query.yaml").write_text(QUERY)
    more = tuple(str(tmp_path / each) if each == "query.yaml" else each for each in more)
    refused = sluice("submit", tmp_path / "query.yaml", *more)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1
