from __future__ import annotations

import os
from pathlib import Path

import pytest

from serving.common import files as atomic
from serving.errors import BadInput


def test_a_file_is_written_with_its_folders_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    atomic.write(path, b"one")
    atomic.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["b"]


def test_others_may_read_what_is_written_in_one_step_where_they_are_to(tmp_path: Path) -> None:
    atomic.write(tmp_path / "own", b"")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600
    atomic.write(tmp_path / "one", b"", mode=0o666)
    (tmp_path / "other").touch()
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    atomic.write(path, b"old")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BadInput, match=r"file: cannot be written \(No space left on device\)"):
        atomic.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written"):
        atomic.write(tmp_path / "file" / "inside", b"")


def test_a_name_may_be_as_long_as_the_system_lets_it_be(tmp_path: Path) -> None:
    atomic.write(tmp_path / ("é" * 127), b"one")
    assert os.listdir(tmp_path) == ["é" * 127]
