"""Processes of ours: what they say and hear, how they end, and whose modules they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from serving.common.child_process import ChildProcess, Closed, Silent, body_bytes, framed
from serving.errors import Malformed, OutOfService
from serving.profiling.footprint import footprint
from serving.variants.variant import reference
from tests.endless import looping_model
from tests.real.command import SLUICE, environment

ECHO = "tests.serving.echo_process"
TIMEOUT_S = 30.0


@pytest.fixture(params=[False, True], ids=["launched", "forked"])
def child(request: pytest.FixtureRequest) -> Iterator[ChildProcess]:
    with closing(ChildProcess(ECHO, "the echo", forked=request.param)) as child:
        yield child


def answer(child: ChildProcess) -> bytes:
    return bytes(child.receive(TIMEOUT_S, 1000))


def test_messages_go_and_come_whatever_libraries_print(child: ChildProcess) -> None:
    for message in (b"one", b"two " * 200):
        child.send(message)
        more = bytearray(4)
        assert answer(child) == message
        child.receive_into(memoryview(more), TIMEOUT_S)
        assert more == b"more"


def test_silence_and_death_are_told_apart(child: ChildProcess) -> None:
    with pytest.raises(Silent):
        child.receive(0.1, 1000)
    child.send(b"die badly")
    with pytest.raises(Closed, match=r"^the echo died \(exit status 1\) badly$"):
        answer(child)
    child.send(b"anybody there?")
    with pytest.raises(Closed, match="exit status 1"):
        answer(child)


def test_a_process_that_is_killed_ends_whoever_waits_for_it(child: ChildProcess) -> None:
    child.send(b"sleep")
    child.kill()
    with pytest.raises(Closed, match="signal 9"):
        answer(child)


def test_no_memory_is_set_aside_for_a_message_beyond_the_bound(child: ChildProcess) -> None:
    child.send(b"announce")
    with pytest.raises(Closed, match=r"something else than messages: a message of 2147483648 bytes"):
        answer(child)
    with pytest.raises(Malformed, match="11 bytes is announced, 10 are allowed"):
        body_bytes(framed(b"12345678901", 11)[:4], 10)
    with pytest.raises(ValueError, match="larger than the 10"):
        framed(b"12345678901", 10)


@pytest.mark.parametrize("forked", [False, True])
def test_it_gets_no_secrets(monkeypatch: pytest.MonkeyPatch, forked: bool) -> None:
    monkeypatch.setenv("SLUICE_KAFKA_PASSWORD", "hunter2")
    with closing(ChildProcess(ECHO, "the echo", forked=forked)) as child:
        child.send(b"environment")
        names = answer(child).decode().split("\n")
    assert "PATH" in names
    assert "SLUICE_KAFKA_PASSWORD" not in names


@pytest.mark.parametrize("forked", [False, True])
def test_it_ends_with_its_parent_in_the_midst_of_its_work(forked: bool) -> None:
    script = (
        f"import os; from serving.common.child_process import ChildProcess\n"
        f"child = ChildProcess({ECHO!r}, 'echo', forked={forked})\n"
        "child.send(b'up'); child.receive(30, 1000); child.send(b'sleep')\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stdout
    deadline_s = time.monotonic() + TIMEOUT_S
    while psutil.pid_exists(int(said)) and psutil.Process(int(said)).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_a_footprint_of_a_network_that_never_returns_is_given_up(tmp_path: Path) -> None:
    entry = looping_model(tmp_path, above=-1).find("endless")
    with pytest.raises(OutOfService, match="did not return from being loaded and run within 4 s"):
        footprint(reference("endless"), entry.path, 1, 1, longest_s=4)


CHILDREN = """
import asyncio, sys
from contextlib import closing
from pathlib import Path
from pipelines.measure.stand_ins.contest_job import CHILD, NAME
from serving.common.child_job import in_child
from operators.capture.live.protocol import Channel
from operators.capture.live.protocol import DecodeJob
from serving.profiling.footprint import footprint
from serving.variants.variant import reference

JOB = DecodeJob(
    uri="none.mp4", mode="all", fps=None, max_width=None, connect_timeout_s=9, read_timeout_s=9, hwaccel="none"
)
with closing(Channel(JOB)) as channel:
    channel.receive(60)
    print(channel.receive(60)[0].reason)

async def train():
    try:
        await in_child(CHILD, NAME, b"nothing")
    except Exception as error:
        print(error)

asyncio.run(train())
print(footprint(reference("endless"), Path(sys.argv[1]), 1, 1).memory_bytes >= 0)
"""


def test_a_users_folders_named_like_ours_are_imported_by_nobody(tmp_path: Path) -> None:
    entry = looping_model(tmp_path / "models").find("endless")
    for name in ("serving", "specialization", "operators", "pipelines", "datasets", "cache_adapt", "learning"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('a folder of the user was imported')")
    command = [sys.executable, "-P", "-c", CHILDREN, str(entry.path)]
    said = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert said.stdout.splitlines()[::2] == ["not_found", "True"], said.stdout + said.stderr
    assert "Malformed" in said.stdout.splitlines()[1]
    ours = subprocess.run([SLUICE, "models", "list"], cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert (ours.returncode, ours.stderr) == (0, b"")
    assert not os.environ.get("PYTHONPATH")
