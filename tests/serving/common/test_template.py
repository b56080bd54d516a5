"""Processes that are forked from one that has imported their module: how many there are, and what ends them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import psutil
import pytest

from serving.common import template
from serving.common.child_process import ChildProcess, Closed

ECHO = "tests.serving.echo_process"
TIMEOUT_S = 30.0
forked = partial(ChildProcess, ECHO, "the echo", forked=True)


def templates() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if template.__name__ in each.cmdline()]


def answers(child: ChildProcess) -> bool:
    child.send(b"one")
    said = bytes(child.receive(TIMEOUT_S, 1000))
    child.receive_into(memoryview(bytearray(4)), TIMEOUT_S)
    return said == b"one"


def test_many_have_one_template_which_ends_with_the_last() -> None:
    with ExitStack() as running:
        children = [running.enter_context(closing(forked())) for _ in range(3)]
        (shared,) = templates()
        assert {each.pid for each in shared.children()} == {each.pid for each in children}
        children[0].close()
        assert templates() == [shared]
        assert all(map(answers, children[1:]))
    assert templates() == []


def test_one_that_is_killed_leaves_the_others_alone() -> None:
    with closing(forked()) as first, closing(forked()) as second:
        assert answers(first)
        first.kill()
        with pytest.raises(Closed, match="signal 9"):
            first.receive(TIMEOUT_S, 1000)
        assert answers(second)


def test_without_the_template_its_forks_end_and_the_next_has_another() -> None:
    with closing(forked()) as orphan:
        (first,) = templates()
        first.kill()
        with pytest.raises(Closed, match="the echo died"):
            orphan.receive(TIMEOUT_S, 1000)
        with closing(forked()) as child:
            assert answers(child)
            assert templates() != [first]
    assert templates() == []


def test_a_template_that_ends_as_it_is_joined_has_another_take_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(forked()):
        (first,) = templates()
        first.kill()
        first.wait()
        monkeypatch.setattr(subprocess.Popen, "poll", lambda self: self.returncode)  # which has not heard of the end
        with closing(forked()) as child:
            assert answers(child)
    monkeypatch.undo()
    assert templates() == []


def test_a_module_that_cannot_be_imported_is_an_error_at_the_start() -> None:
    with pytest.raises(ConnectionError):
        ChildProcess("tests.serving.no_such_module", "nobody", forked=True)
    assert templates() == []


def test_ctrl_c_is_not_for_them() -> None:
    with closing(forked()) as child:
        (shared,) = templates()
        assert os.getpgid(shared.pid) == shared.pid
        assert os.getpgid(child.pid) in (shared.pid, child.pid), "its template's, until it has one of its own"


def test_the_decoder_starts_no_thread_before_it_is_forked() -> None:
    script = (
        "import operators.capture.live.child, threading, os\n"
        "print(len(os.listdir('/proc/self/task')), threading.active_count())"
    )
    environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path.cwd())}
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.split() == ["1", "1"]
