"""JSON lines: complete, at once, and with a clear word where they cannot be written."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from operators.publish import jsonl
from operators.publish.jsonl import JsonLines
from operators.wire.schema import Result, from_json
from serving.errors import BadInput, SluiceError
from tests.operators.publish.messages import result, thing
from tests.small_disk import files_of_at_most
from tests.turns import until


def test_every_line_is_a_message_and_there_at_once(tmp_path: Path) -> None:
    written = [result(0), result(1, thing(7))]
    sink = JsonLines(str(tmp_path / "r.jsonl"))
    for count, message in enumerate(written, start=1):
        sink.write(message)
        lines = (tmp_path / "r.jsonl").read_bytes().splitlines()
        assert [from_json(line, Result) for line in lines] == written[:count]
    sink.close()


def test_what_is_written_is_on_the_disk_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[int, int] = {}

    def fsync(file: int) -> None:
        found = os.fstat(file)
        synced[found.st_ino] = found.st_size

    monkeypatch.setattr(os, "fsync", fsync)
    sink = JsonLines(str(tmp_path / "r.jsonl"))
    sink.write(result(0))
    assert not synced, "not for each line: that costs more than the analysis"
    sink.close()
    written = (tmp_path / "r.jsonl").stat()
    assert synced[written.st_ino] == written.st_size > 0
    assert tmp_path.stat().st_ino in synced, "and its name"


def test_a_disk_that_is_full_only_in_the_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    sink = JsonLines(str(tmp_path / "r.jsonl"), "events")
    sink.write(result(0))
    with pytest.raises(SluiceError, match=r"^cannot write events to \S*r\.jsonl: No space left on device$"):
        sink.close()


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("old\n")
    JsonLines(str(tmp_path / "r.jsonl")).close()
    assert (tmp_path / "r.jsonl").read_bytes() == b""


def test_a_file_that_another_run_writes_is_left_alone(tmp_path: Path) -> None:
    first = JsonLines(str(tmp_path / "r.jsonl"))
    first.write(result(0))
    with pytest.raises(BadInput, match=r"^cannot write events to \S*r\.jsonl: another process writes there; choose"):
        JsonLines(str(tmp_path / "r.jsonl"), "events")
    first.write(result(1))
    first.close()
    lines = (tmp_path / "r.jsonl").read_bytes().splitlines()
    assert [from_json(line, Result).seq for line in lines] == [0, 1]
    JsonLines(str(tmp_path / "r.jsonl")).close()


def test_a_file_that_somebody_has_removed_is_told_and_one_that_is_called_otherwise_goes_on(tmp_path: Path) -> None:
    sink = JsonLines(str(tmp_path / "r.jsonl"))
    sink.write(result(0))
    (tmp_path / "r.jsonl").rename(tmp_path / "r.1")
    sink.write(result(1))
    assert len((tmp_path / "r.1").read_bytes().splitlines()) == 2
    (tmp_path / "r.1").unlink()
    with pytest.raises(SluiceError, match=r"^cannot write results to \S*r\.jsonl: somebody has removed it$"):
        sink.write(result(2))
    sink.close()


def test_a_file_that_never_had_a_name_is_written_to() -> None:
    with TemporaryFile() as nameless:
        sink = JsonLines(f"/dev/fd/{nameless.fileno()}")
        sink.write(result(0))
        sink.close()
        assert from_json(nameless.read().strip(), Result).seq == 0


def test_a_pipe_has_no_lock_and_no_length(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = JsonLines(str(tmp_path / "pipe"))
    sink.write(result(3))
    sink.close()
    assert from_json(os.read(reader, 1 << 16).strip(), Result).seq == 3
    os.close(reader)


def test_a_dash_is_stdout_which_stays_open(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = JsonLines("-")
    sink.write(result(3))
    sink.close()
    JsonLines("-").write(result(4))
    assert [from_json(line, Result).seq for line in capfdbinary.readouterr().out.splitlines()] == [3, 4]


@pytest.mark.parametrize(("name", "why"), [("none/r.jsonl", "No such file or directory"), ("", "Is a directory")])
def test_what_cannot_be_opened_is_bad_input(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(BadInput, match=f"cannot write results to .*: {why}; choose another file"):
        JsonLines(str(tmp_path / name))


def test_a_full_disk_is_one_clear_line_and_close_does_not_repeat_it() -> None:
    sink = JsonLines("/dev/full")
    with pytest.raises(SluiceError, match="cannot write results to /dev/full: No space left on device"):
        sink.write(result(0))
    sink.close()


@pytest.mark.parametrize("by_shell", [False, True])
def test_a_disk_that_takes_half_a_line_keeps_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_shell: bool
) -> None:
    with (tmp_path / "r.jsonl").open("w") as redirected:
        monkeypatch.setattr(sys, "stdout", redirected)
        sink = JsonLines("-" if by_shell else str(tmp_path / "r.jsonl"))
        sink.write(result(0))
        whole = (tmp_path / "r.jsonl").read_bytes()
        refused = pytest.raises(SluiceError, match=r"cannot write results to \S*(r\.jsonl|stdout): File too large")
        with files_of_at_most(len(whole) + 20), refused:
            sink.write(result(1))
        sink.close()
    assert (tmp_path / "r.jsonl").read_bytes() == whole


async def test_a_reader_that_is_slow_holds_up_who_waits_for_it_and_not_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jsonl, "PATIENCE_S", 0.0)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = JsonLines(str(tmp_path / "pipe"), patient=True)
    for seq in range(1000):
        sink.write(result(seq))
    waiting = asyncio.create_task(sink.taken())
    await until(lambda: "takes nothing" in caplog.text)  # never, if the loop stood still
    assert not waiting.done()
    assert sink.waits == f"the reader of results at {tmp_path / 'pipe'}"
    got = b""

    def has_read_all() -> bool:
        nonlocal got
        with suppress(BlockingIOError):
            got += os.read(reader, 1 << 16)
        return waiting.done() and got.count(b"\n") == 1000

    await until(has_read_all)
    await waiting
    assert [from_json(line, Result).seq for line in got.splitlines()] == list(range(1000))
    assert sink.waits is None
    sink.close()
    os.close(reader)


def test_a_reader_that_keeps_up_has_each_line_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = JsonLines(str(tmp_path / "pipe"), patient=True)
    for seq in range(1000):
        sink.write(result(seq))
        assert sink.waits is None, "a turn of the loop for each line costs more than the line"
        assert from_json(os.read(reader, 1 << 16).strip(), Result).seq == seq
    sink.close()
    os.close(reader)


def test_a_reader_that_has_gone_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = JsonLines(str(tmp_path / "pipe"), patient=True)
    os.close(reader)
    with pytest.raises(SluiceError, match=r"^cannot write results to \S*pipe: Broken pipe$"):
        sink.write(result(0))
    sink.close()


full = Event()


class Unwilling(FileIO):
    """A pipe that does not wait; says how often there was no room."""

    refused = 0

    def write(self, data: Any) -> int:
        taken = super().write(data)
        if taken is None:
            self.refused += 1
            full.set()
        return taken


def test_a_stdout_that_does_not_wait_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    pipe, got = Unwilling(writer, "w"), bytearray()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=SimpleNamespace(raw=pipe)))
    sink, lines = JsonLines("-"), 500

    def read() -> None:
        full.wait()
        while got.count(b"\n") < lines:
            got.extend(os.read(reader, 1 << 12))

    reading = Thread(target=read)
    reading.start()
    for seq in range(lines):
        sink.write(result(seq))
    reading.join()
    assert [from_json(line, Result).seq for line in got.splitlines()] == list(range(lines))
    assert pipe.refused <= 2 * lines, "it is asked again and again while there is no room"
    pipe.close()
    os.close(reader)
