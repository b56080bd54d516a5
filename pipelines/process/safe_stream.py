"""All that this process writes to stderr passes through here: logs, warnings, errors, tracebacks, progress."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, TextIO

from serving.common.redaction import redact

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
        """Write one after the other."""
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
