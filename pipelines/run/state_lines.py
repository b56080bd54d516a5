"""The lines of ``sluice capture``: one for each change of a stream's state."""

from __future__ import annotations

from operators.observer import Observer
from operators.wire.schema import StreamStatus
from pipelines.process.terminal import say


class StateLines(Observer):
    """Prints on stderr."""

    def stream_state_changed(self, status: StreamStatus) -> None:
        reason = f" ({status.reason})" if status.reason else ""
        message = f": {status.message}" if status.message else ""
        say(f"stream {status.stream}: {status.state}{reason}, {status.frames} frames{message}", err=True)
