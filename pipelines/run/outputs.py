"""Where a run leaves what it finds: files, pictures, and who else is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from operators.frames.frame import Frame
from operators.observer import Observer
from operators.publish.jsonl import JsonLines
from operators.publish.track_events import Lifecycles, TrackMessage
from operators.wire.schema import Event, Result, to_json
from operators.zones.visits import EventTotals
from pipelines.assembly.parts import lifecycles
from pipelines.execute.surroundings import FinalStep
from pipelines.observe.forward.sink import Sinks
from pipelines.observe.record.layout import Recording
from pipelines.observe.web.listen import Listen
from pipelines.query.query_file import Query
from serving.errors import BadInput

if TYPE_CHECKING:
    from operators.annotate.annotator import Annotator

log = logging.getLogger(__name__)


class EventLog:
    """A sink that derives events from results, in the order of each stream."""

    def __init__(self, derive: Lifecycles, counts: EventTotals, lines: JsonLines | None) -> None:
        """``lines``: where events are written; None: nowhere."""
        self._derive, self._counts, self.lines = derive, counts, lines
        self._finished = False

    def write(self, result: Result) -> None:
        """Take a result; raises SluiceError if events can no longer be written."""
        self._take(self._derive(result))

    def finish(self) -> None:
        """End the tracks of all streams, once: there are no more results."""
        if not self._finished:
            self._finished = True
            self._take(self._derive.finish())

    def _take(self, messages: Iterable[TrackMessage]) -> None:
        for message in messages:
            if self.lines is not None:
                self.lines.append(to_json(message))
            if isinstance(message, Event):
                self._counts.see(message)


class ResultSink(Protocol):
    """Takes results one by one, those of each stream in order."""

    def write(self, result: Result) -> None:
        """Take a result, quickly: it is called on the event loop. ``SluiceError`` ends the run."""


@dataclass(frozen=True)
class Outputs:
    """Where a run leaves what it found; None: nowhere."""

    results: str | None = None
    """JSON lines: a path, or ``-`` for stdout."""
    annotated: Path | None = None
    """A video or a directory of snapshots."""
    report: Path | None = None
    """A JSON file."""
    listen: Listen | None = None
    """Where the page, metrics and health are served while it goes on."""
    events: str | None = None
    """JSON lines, as ``results``."""
    record: Recording | None = None
    """Frames and results around events and disagreements."""
    forward: Sinks = ()
    """Who is told events and states of streams at once."""
    stay: bool = False
    """Serve on at ``listen`` when it has ended, until a signal comes."""


def check_writable(outputs: Outputs) -> None:
    """Say it before the work, not after it: raises BadInput."""
    try:
        if outputs.report is not None:
            outputs.report.touch()
    except OSError as error:
        raise BadInput(f"cannot write the report to {outputs.report}: {error.strerror}; choose another file") from None


def open_files(
    outputs: Outputs, query: Query, unhurried: frozenset[str], files: ExitStack
) -> tuple[list[ResultSink], list[FinalStep]]:
    """Return what takes results, and what takes frames with theirs; closed with ``files``."""
    sinks: list[ResultSink] = []
    final_steps: list[FinalStep] = []
    if outputs.results is not None:
        lines = JsonLines(outputs.results, patient=True)
        files.callback(lines.close)
        sinks.append(lines)
    if outputs.annotated is not None:
        from operators.annotate.annotator import Annotator, Overlay

        look = Overlay([each.mask for each in query.masks], unhurried, query.layout)
        annotator = Annotator(outputs.annotated, [stream.id for stream in query.streams], look)
        files.callback(annotator.close)
        sinks.append(annotator)
        final_steps.append(_drawn_by(annotator))
    return sinks, final_steps


def event_log(query: Query, target: str | None, counts: EventTotals, observer: Observer, files: ExitStack) -> EventLog:
    """Return what derives events, and writes them where they are wanted."""
    lines = None if target is None else JsonLines(target, "events", patient=True)
    if lines is not None:
        files.callback(lines.close)
        if all(node.task in ("detect", "recognise") for node in query.nodes):
            log.warning("--events: nothing is tracked, so there are none: add a node with task: track")
    return EventLog(lifecycles(query, observer), counts, lines)


def _drawn_by(annotator: Annotator) -> FinalStep:
    async def draw(frame: Frame, result: Result) -> None:
        await asyncio.to_thread(annotator.observe, frame, result)

    return draw
