"""The progress of a run: a bar for each stream, with its rate and its drops."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from operators.capture.spec import CaptureSpec
from operators.observer import Observer
from operators.wire.schema import Result, StreamStatus


class RunProgress(Observer):
    """Draws; on something that is no terminal it prints changes of state only."""

    def __init__(self, specs: Sequence[CaptureSpec], console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f} frames"),
            TextColumn("{task.fields[fps]:.1f} fps"),
            TextColumn("{task.fields[dropped]} dropped"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            console=console,
            disable=not (console.is_terminal or console.is_jupyter),
        )
        self._tasks: dict[str, TaskID] = {
            spec.stream: self._bars.add_task(spec.stream, total=spec.limit, fps=0.0, dropped=0, state="starting")
            for spec in specs
        }
        self._counts = dict.fromkeys(self._tasks, 0)
        self._drops = dict.fromkeys(self._tasks, 0)
        self._started = time.monotonic()

    def __enter__(self) -> RunProgress:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bars.stop()

    def frame_analysed(self, result: Result) -> None:
        self._advance(result.stream)

    def frame_dropped(self, result: Result) -> None:
        self._drops[result.stream] += 1
        self._advance(result.stream)

    def frame_failed(self, result: Result) -> None:
        self._advance(result.stream)

    def _advance(self, stream: str) -> None:
        self._counts[stream] += 1
        elapsed_s = max(time.monotonic() - self._started, 1e-3)
        self._bars.update(
            self._tasks[stream], advance=1, fps=self._counts[stream] / elapsed_s, dropped=self._drops[stream]
        )

    def stream_state_changed(self, status: StreamStatus) -> None:
        """Show it; a state that is not as it should be gets a line that stays."""
        state = status.state if status.reason is None else f"{status.state}: {status.reason}"
        self._bars.update(self._tasks[status.stream], state=state)
        if status.state == "ended":
            self._bars.update(self._tasks[status.stream], total=self._counts[status.stream] or 1)
        if status.state in ("stalled", "reconnecting") or (status.state == "ended" and status.message):
            self._console.print(f"stream {status.stream}: {state}: {status.message}", markup=False, soft_wrap=True)
