"""The only way to a terminal: whatever text comes from elsewhere, nothing in it acts upon it or shows a secret.

Names, labels and messages come from topics, cards, files and servers; any of them may hold escapes.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, TextIO

import click

from serving.common.redaction import redact
from serving.common.untrusted import printable, printable_lines

OUTPUT = re.compile(r"^(--[a-z-]+=)?(/dev/stdout|/dev/fd/1|/proc/self/fd/1)$")
"""An argument that names what the process was given as its output."""


def say(text: str, *, err: bool = False, **style: Any) -> None:
    """Print lines, in a ``style`` of ours: see ``click.style``."""
    for line in printable_lines(text):
        click.secho(line, err=err, **style)


def claim_stdout(arguments: Sequence[str]) -> list[str]:
    """Only what is written to ``sys.stdout`` is output: what libraries print by themselves goes to stderr.

    HiGHS, for one, prints a line about some programmes whatever it is told, which would be a line of somebody's JSON.
    Returns the arguments: where they name ``/dev/stdout``, that is output too.
    """
    if sys.stdout is not sys.__stdout__:  # another stream stands in its place already
        return list(arguments)
    ours, inherited = os.dup(1), sys.__stdout__
    os.dup2(sys.stderr.fileno(), 1)
    sys.stdout = os.fdopen(ours, "w", encoding=inherited.encoding, errors=inherited.errors)
    if getattr(inherited, "write_through", False):  # PYTHONUNBUFFERED: what somebody's operator prints shows at once
        sys.stdout.reconfigure(line_buffering=True)
    return [re.sub(OUTPUT, rf"\g<1>/dev/fd/{ours}", each) for each in arguments]


class SafeFormatter(logging.Formatter):
    """A record is one line, whatever its message quotes; only the traceback after it has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return "\n".join(printable_lines(super().formatException(ei)))


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Stands in for ``sys.excepthook``, with nothing that acts upon the terminal."""
    for line in "".join(traceback.format_exception(kind, error, trace)).split("\n"):
        sys.stderr.write(printable(line) + "\n")


MAX_HELD = 65_536
"""Characters that are held; a longer line is written in parts."""


class SafeStream:
    """A text stream that shows no secrets. Lines are kept together, so that a secret written in pieces is seen."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._held = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Write the lines that are complete by now, redacted."""
        with self._lock:
            complete, end, rest = (self._held + text).rpartition("\n")
            if len(rest) > MAX_HELD:
                complete, end, rest = complete + end + rest, "", ""
            self._held = rest
            if complete or end:
                self._stream.write(redact(complete) + end)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is held, complete or not."""
        with self._lock:
            held, self._held = self._held, ""
            if held:
                self._stream.write(redact(held))
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
