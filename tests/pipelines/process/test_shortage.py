"""What a machine refuses is said as such, whoever says it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.cli import shortage


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 486. KiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("cv2.abi3.so: failed to map segment from shared object"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("can't start new thread"),
    ],
)
def test_what_is_short_and_what_to_do(error: Exception) -> None:
    said = shortage(error) or ""
    assert said.startswith("the machine refuses ")
    assert "give the process more memory (the container's limit, or `ulimit -v`)" in said


@pytest.mark.parametrize("error", [ValueError("3"), OSError(errno.EIO, "Input/output error"), ImportError("x")])
def test_other_errors_are_none(error: Exception) -> None:
    assert shortage(error) is None


@pytest.mark.parametrize(("place", "said"), [(None, "the output"), ("/var/x.json", "/var/x.json")])
def test_a_full_disk_is_a_shortage_too(place: str | None, said: str) -> None:
    error = OSError(errno.ENOSPC, "No space left on device", place)
    assert shortage(error) == f"no space is left for {said}: make some, or write elsewhere"


def test_a_name_that_is_too_long_is_one_line_too() -> None:
    with pytest.raises(OSError, match="File name too long") as caught:
        Path("a" * 300).is_dir()
    assert shortage(caught.value) == f"{'a' * 300}: no file has so long a name"


def test_the_command_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cli.sluice, "main", refused)
    monkeypatch.setattr(cli, "_leave", lambda status: None)
    monkeypatch.setattr(cli.sys, "excepthook", None)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    monkeypatch.setattr(cli, "_set_up_logging", lambda debug: None)
    monkeypatch.setattr(cli.sys, "stderr", cli.sys.stderr)
    cli.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sluice: error: the machine refuses a further thread")
