"""Recordings that somebody has tampered with: every fault is told, costs its own frame, and leads nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.observe.record import reading
from pipelines.observe.record.layout import MOST_FRAMES, MOST_HELD
from pipelines.observe.record.reading import episodes, frames, read_manifest
from serving.errors import BadInput
from tests.pipelines.observe.record.scenes import record


def swap(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


HOSTILE: list[tuple[str, Callable[[Path], object], str]] = [
    ("00002.jpg", lambda path: path.symlink_to("/etc/passwd"), "symbolic links"),
    ("00002.jpg", os.mkfifo, "is no file"),
    ("00002.jpg", Path.mkdir, "irectory|no file"),
    ("00002.jpg", lambda path: path.write_bytes(b"x" * 2000), "is larger than"),
    ("00002.jpg", lambda path: None, "No such file"),
]


@pytest.mark.parametrize(("name", "make", "why"), HOSTILE)
def test_a_picture_that_is_none_costs_its_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[Path], object], why: str
) -> None:
    record(tmp_path, frames=6)
    monkeypatch.setattr(reading, "LARGEST_PICTURE", 1000)
    swap(tmp_path / "000001" / name, make)
    found = list(frames(tmp_path, 1))
    assert [each.place for each in found if each.fault] == [2]
    assert re.search(why, found[2].fault)


def test_lines_that_are_no_results_cost_their_frames(tmp_path: Path) -> None:
    record(tmp_path, frames=6)
    results = tmp_path / "000001" / "results.jsonl"
    lines = results.read_bytes().splitlines()
    lines[1], lines[3] = b"[" * 5000, b'{"schema": "sluice.result/2"}'
    results.write_bytes(b"\n".join(lines))
    assert [bool(each.fault) for each in frames(tmp_path, 1)] == [False, True, False, True, False, False]


def test_no_more_frames_of_an_episode_are_read_than_are_written(tmp_path: Path) -> None:
    record(tmp_path, frames=6)
    (tmp_path / "000001" / "results.jsonl").write_bytes(b"x\n" * 10_000)
    assert len(list(frames(tmp_path, 1))) == MOST_FRAMES + MOST_HELD


def test_results_that_are_too_many_bytes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, frames=6)
    monkeypatch.setattr(reading, "LARGEST_RESULTS", 100)
    assert [each.fault for each in frames(tmp_path, 1)] == ["results.jsonl is larger than 0 MiB"]


def test_folders_that_are_no_episodes_are_passed_over(tmp_path: Path) -> None:
    record(tmp_path, frames=6)
    (tmp_path / "7").mkdir()
    (tmp_path / "000002").symlink_to("/etc")
    (tmp_path / "000003").touch()
    (tmp_path / "000004").mkdir()
    assert episodes(tmp_path) == [1, 4]
    assert list(frames(tmp_path, 4)) == []


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"schema": "sluice.recording/2"}', b"\xff", b" " * (2 << 20)])
def test_what_is_no_recording_is_told_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(BadInput) as told:
        read_manifest(tmp_path)
    assert str(tmp_path) in str(told.value)
    assert "\n" not in str(told.value)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no recording"):
        read_manifest(tmp_path / "none")
    with pytest.raises(BadInput, match="No such file"):
        episodes(tmp_path / "none")
