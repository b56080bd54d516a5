"""The only way to a terminal: whatever text comes from elsewhere, nothing in it acts upon the terminal.

Names, labels and messages come from topics, cards, files and servers; any of them may hold escapes.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

import click

from serving.common.untrusted import printable, printable_lines


def say(text: str, *, err: bool = False, **style: Any) -> None:
    """Print lines, in a ``style`` of ours: see ``click.style``."""
    for line in printable_lines(text):
        click.secho(line, err=err, **style)


class SafeFormatter(logging.Formatter):
    """A record is one line, whatever its message quotes; only the traceback after it has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """The traceback, line by line."""
        return "\n".join(printable_lines(super().formatException(ei)))


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Stands in for ``sys.excepthook``, with nothing that acts upon the terminal."""
    for line in "".join(traceback.format_exception(kind, error, trace)).split("\n"):
        sys.stderr.write(printable(line) + "\n")
