from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading

from pipelines.process.terminal import MAX_HELD, SafeStream
from serving.common.redaction import hide


def written(*pieces: str) -> str:
    target = io.StringIO()
    stream = SafeStream(target)
    for piece in pieces:
        stream.write(piece)
    stream.flush()
    return target.getvalue()


def test_a_secret_that_comes_in_pieces_is_hidden() -> None:
    hide("hunter22")
    assert written("the pass is hun", "ter22\nnext ", "line") == "the pass is ***\nnext line"


def test_lines_are_written_when_they_are_complete() -> None:
    target = io.StringIO()
    stream = SafeStream(target)
    stream.write("one\ntwo")
    assert target.getvalue() == "one\n"
    stream.write("\n")
    assert target.getvalue() == "one\ntwo\n"


def test_what_never_ends_its_line_is_not_kept() -> None:
    target = io.StringIO()
    SafeStream(target).write("x" * (MAX_HELD + 1))
    assert len(target.getvalue()) == MAX_HELD + 1


def test_logs_with_arguments_and_tracebacks_are_redacted() -> None:
    hide("hunter22")
    target = io.StringIO()
    handler = logging.StreamHandler(SafeStream(target))
    log = logging.getLogger("test_safe_stream")
    log.addHandler(handler)
    try:
        raise ValueError({"a": b"\x00bob\x00hunter22"})
    except ValueError:
        log.warning("config %s", {"sasl_plain_password": "hunter22"}, exc_info=True)
    finally:
        log.removeHandler(handler)
    assert "hunter22" not in target.getvalue()
    assert "ValueError" in target.getvalue()


def test_threads_do_not_mix_their_lines() -> None:
    target = io.StringIO()
    stream = SafeStream(target)
    lines = [f"{number}" * 50 + "\n" for number in range(8)]
    threads = [threading.Thread(target=lambda text=text: [stream.write(text) for _ in range(50)]) for text in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(target.getvalue().splitlines(keepends=True)) == set(lines)


ENDINGS = """
import sys, threading, warnings
from pipelines import cli
from serving.common.redaction import hide

hide("hunter22")
def end(*_, **__):
    warnings.warn("hunter22 in a warning")
    thread = threading.Thread(target=lambda: 1 / len(b"hunter22"[8:]) if True else 0, name="hunter22")
    thread.start()
    thread.join()
    raise RuntimeError("hunter22 in an error")
cli.sluice.main = end
sys.argv = ["sluice", *sys.argv[1:]]
cli.main()
"""


def test_errors_warnings_and_threads_of_a_command_are_redacted() -> None:
    for options in ((), ("--debug",)):
        done = subprocess.run(
            [sys.executable, "-c", ENDINGS, *options], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert "*** in a warning" in done.stderr
        assert "*** in an error" in done.stderr
        assert "thread ***" in done.stderr
        assert "hunter22" not in done.stderr.replace('b"hunter22"', "").replace('hide("hunter22")', "")
