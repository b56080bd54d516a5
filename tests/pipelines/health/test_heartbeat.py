"""A fresh file means a living process, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.health import command
from pipelines.health.heartbeat import INTERVAL_S, Heartbeat, ailment
from serving.errors import BadInput, Unavailable

HOUR_AGO_S = -3600.0


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def _age(path: Path, seconds: float) -> None:
    at = path.stat().st_mtime + seconds
    os.utime(path, (at, at))


def test_beats_at_most_once_a_second(tmp_path: Path) -> None:
    path, clock = tmp_path / "alive", Clock()
    heartbeat = Heartbeat(path, clock)
    heartbeat.beat()
    _age(path, HOUR_AGO_S)
    old = path.stat().st_mtime
    clock.now_s += INTERVAL_S / 2
    heartbeat.beat()
    assert path.stat().st_mtime == old
    clock.now_s += INTERVAL_S / 2
    heartbeat.beat()
    assert path.stat().st_mtime > old + 3000


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Heartbeat(None).beat()
    assert not list(tmp_path.iterdir())


def test_what_an_earlier_process_left_is_no_sign_of_life(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    path.touch()
    Heartbeat(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["missing/alive", "."])
def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"--alive .*: name a file"):
        Heartbeat(tmp_path / name)


def test_a_file_that_can_no_longer_be_touched_does_not_stop_the_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    heartbeat = Heartbeat(tmp_path / "folder" / "alive")
    (tmp_path / "folder").rmdir()
    heartbeat.beat()
    assert "cannot write" in caplog.text


def test_trouble_is_told_with_its_reason_until_it_is_over(tmp_path: Path) -> None:
    path, clock = tmp_path / "alive", Clock()
    heartbeat = Heartbeat(path, clock)

    def said() -> str | None:
        return ailment(path, 15.0, path.stat().st_mtime)

    heartbeat.beat()
    assert said() is None
    heartbeat.ail("7 messages wait")
    assert said() == "7 messages wait"
    clock.now_s += INTERVAL_S
    heartbeat.ail("8 messages wait")
    assert said() == "8 messages wait"
    heartbeat.beat()
    assert said() is None
    assert [item.name for item in tmp_path.iterdir()] == ["alive"]


def test_trouble_keeps_the_file_fresh_and_outlasts_it(tmp_path: Path) -> None:
    path, clock = tmp_path / "alive", Clock()
    heartbeat = Heartbeat(path, clock)
    heartbeat.ail("no broker")
    _age(path, HOUR_AGO_S)
    assert "s old, more than 15 s; the process said last: no broker" in str(ailment(path, 15.0, time.time()))
    clock.now_s += INTERVAL_S
    heartbeat.ail("no broker")
    assert ailment(path, 15.0, time.time()) == "no broker"


def test_a_reason_of_any_length_and_kind_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    Heartbeat(path).ail("\N{SNOWMAN}\n\x1b[31m" * 10_000)
    assert str(ailment(path, 15.0, time.time())).startswith("\N{SNOWMAN}\n")


@pytest.mark.parametrize(
    "words",
    [b"x", b"{}", b"[]", b"null", b"1", b'{"schema": "sluice.alive/1", "reason": 5}', b"[" * 20_000, b"\xff\xfe"],
)
def test_a_file_that_is_no_heartbeat_is_no_sign_of_life(tmp_path: Path, words: bytes) -> None:
    path = tmp_path / "alive"
    path.write_bytes(words)
    assert "holds something else" in str(ailment(path, 15.0, time.time()))


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [(0, None), (14, None), (16, "16 s old, more than 15 s"), (-14, None), (-3600, "old")],
)
def test_age_decides(tmp_path: Path, age_s: float, expected: str | None) -> None:
    path = tmp_path / "alive"
    path.touch()
    problem = ailment(path, 15.0, path.stat().st_mtime + age_s)
    assert problem is None if expected is None else expected in str(problem)


def test_missing_and_unreadable_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "has not begun" in str(ailment(tmp_path / "alive", 15.0, 0.0))
    assert "cannot look at" in str(ailment(tmp_path / "file" / "alive", 15.0, 0.0))


def test_command_is_silent_while_fresh_and_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    path.touch()
    fresh = CliRunner().invoke(command, [str(path)])
    assert (fresh.exit_code, fresh.output) == (0, "")
    _age(path, -20.0)
    assert CliRunner().invoke(command, [str(path), "--max-age", "60"]).exit_code == 0
    stale = CliRunner().invoke(command, [str(path)])
    assert isinstance(stale.exception, Unavailable)
    assert stale.exception.exit_code == 1
    assert CliRunner().invoke(command, [str(path), "--max-age", "0"]).exit_code == 2


def test_health_imports_nothing_heavy() -> None:
    script = "import sys, pipelines.cli, pipelines.commands.health as h; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "asyncio", "pydantic", "av", "cv2", "faust", "onnxruntime", "torch", "kafka"} & set(modules)
