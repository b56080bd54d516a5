"""``sluice init`` as people run it: a clip, a camera with a password, one that is not there, and questions."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
from pathlib import Path

import cv2
import pytest

from tests.pipelines.run.test_run_query import write_clip
from tests.real.command import SLUICE, environment, sluice
from tests.real.http_files import serve_files
from tests.real.ports import free_port


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    write_clip(tmp_path / "clip.mp4")
    return tmp_path / "clip.mp4"


def test_a_clip_is_tried_shown_and_written_down(tmp_path: Path, clip: Path) -> None:
    query = tmp_path / "yard.yaml"
    said = sluice("init", query, "--source", clip, "--yes")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[1] == f"wrote {query}: whatever moves, found by motion"
    assert lines[-1] == f"next: sluice run {query} --serve --stay    # and look at it in a browser"
    assert cv2.imread(str(tmp_path / "yard-clip.jpg")) is not None
    assert sluice("check", query).returncode == 0
    assert not (tmp_path / "yard.secret").exists()

    query.write_text("mine")
    again = sluice("init", query, "--source", clip, "--yes")
    assert again.returncode == 2
    assert (
        again.stderr == f"sluice: error: {query} is there already: choose another name, or overwrite it with --force\n"
    )
    assert query.read_text() == "mine"
    assert sluice("init", query, "--source", clip, "--yes", "--force").returncode == 0
    assert query.read_text() != "mine"


def test_a_password_goes_into_a_file_of_its_own_that_the_query_names(tmp_path: Path, clip: Path) -> None:
    query, secret = tmp_path / "yard.yaml", tmp_path / "yard.secret"
    with serve_files({"/clip.mp4": clip.read_bytes()}) as server:
        address = f"{server.url.replace('://', '://admin:hunter22@')}/clip.mp4"
        (tmp_path / "given").write_text(address)
        said = sluice("init", query, "--source-file", tmp_path / "given", "--find", "car")
        assert said.returncode == 0, said.stderr
        ran = sluice("run", query, "--limit", "2")
        assert ran.returncode == 0, ran.stderr
    assert "hunter22" not in query.read_text() + said.stdout + said.stderr
    assert "admin:${file:yard.secret}@" in query.read_text()
    assert secret.read_text() == "hunter22\n"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert said.stdout.splitlines()[-1].startswith(f"next: sluice run {query} --serve ")
    assert sluice("check", query).returncode == 0
    secret.unlink()
    for command in ("check", "run"):
        ended = sluice(command, query)
        assert ended.returncode == 2
        assert f"uri: {secret}: No such file or directory" in ended.stderr + ended.stdout


def test_a_camera_that_is_not_there_ends_it_in_time_and_nothing_is_written(tmp_path: Path) -> None:
    address = f"rtsp://admin:hunter22@127.0.0.1:{free_port()}/1"
    (tmp_path / "given").write_text(address)
    said = sluice("init", tmp_path / "q.yaml", "--source-file", tmp_path / "given", "--yes", "--wait", "2")
    assert said.returncode == 2
    (line,) = (line for line in said.stderr.splitlines() if line.startswith("sluice: error: "))
    assert "given up after 2 s without a frame" in line
    assert "hunter22" not in said.stdout + said.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no camera and no clip: give --source URI, or --source-file FILE where it has a password"),
        (("--source", "a.mp4", "--find", "persn"), "--find 'persn': no model finds it; did you mean 'person'?"),
        (
            ("--source", "a.mp4", "--recognise", "vehicle-tpe"),
            "unknown model 'vehicle-tpe'; did you mean 'vehicle-type'?",
        ),
        (("--source", "none.mp4"), "none.mp4"),
    ],
)
def test_what_is_missing_or_mistyped_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = sluice("init", tmp_path / "q.yaml", *arguments, "--yes")
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_on_a_terminal_it_asks(tmp_path: Path, clip: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{clip}\ncar\n".encode())
    command = [SLUICE, "init", str(tmp_path / "yard.yaml")]
    done = subprocess.run(command, stdin=theirs, env=environment(), capture_output=True, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "What to find" in done.stdout
    assert "car, found by motion and vehicle-type" in done.stdout
