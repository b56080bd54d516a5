"""Who takes what a run yields: files, pictures, sinks, the page, the recording, and the counts for its report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from operators.capture.spec import CaptureSpec
from operators.observer import Observer, Observers
from operators.publish.jsonl import JsonLines
from operators.zones.visits import EventTotals
from pipelines.execute.surroundings import FinalStep
from pipelines.observe.forward.sink import Sinks
from pipelines.observe.record.recorder import recorders
from pipelines.process.safe_console import SafeConsole
from pipelines.process.tasks import unless
from pipelines.query.look_ahead import unhurried
from pipelines.query.query_file import Query
from pipelines.report.run_counts import RunCounts
from pipelines.run.outputs import EventLog, Outputs, ResultSink, event_log, open_files
from pipelines.run.progress import RunProgress
from serving.errors import SluiceError

if TYPE_CHECKING:
    from pipelines.observe.forward.direct import Direct
    from pipelines.observe.record.recorder import Recorder
    from pipelines.observe.station import Station

LEAVING_S = 5.0
"""How long readers of pipes are given once the run is to stop."""


@dataclass
class Audience:
    counts: RunCounts
    observers: Observers
    sinks: list[ResultSink]
    """Who takes results."""
    lines: list[JsonLines]
    """Files and pipes among them, and those of events."""
    final_steps: list[FinalStep]
    """Who takes frames with their results."""
    tellers: Sequence[Direct]
    station: Station | None
    keeps_frames: bool = False
    """Whether frames are recorded."""
    events: EventLog | None = None
    totals: EventTotals = field(default_factory=EventTotals)
    """The sums of events."""

    @asynccontextmanager
    async def attending(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Tell sinks while the block runs; at its end all tracks end."""
        async with AsyncExitStack() as stack:
            for each in self.tellers:
                await stack.enter_async_context(each.running(self.observers))
            if self.events is not None:
                stack.callback(self.events.finish)
            yield
        await self.taken(stop)

    async def taken(self, stop: asyncio.Event) -> None:
        """Wait for the readers of pipes; raises SluiceError where one takes nothing though the run is to stop."""
        for lines in self.lines:
            if lines.waits is None or await unless(stop, lines.taken()):
                continue
            try:
                async with asyncio.timeout(LEAVING_S):
                    await lines.taken()
            except TimeoutError:
                raise SluiceError(f"{lines.waits} takes nothing: it lacks the end") from None

    def trouble(self) -> str | None:
        """Why a sink takes nothing; None while all are well."""
        return next(filter(None, (each.trouble() for each in self.tellers)), None)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Serve the page, metrics and health while the block runs, if anywhere."""
        async with self.station.open() if self.station is not None else nullcontext():
            yield


def audience(
    query: Query, specs: Sequence[CaptureSpec], outputs: Outputs, observers: Sequence[Observer], files: ExitStack
) -> Audience:
    """Open what a run writes to, and call together who takes it; ``files`` closes all that is opened."""
    waiting = unhurried(query)
    counts, (sinks, final_steps) = RunCounts(waiting), open_files(outputs, query, waiting, files)
    progress = files.enter_context(RunProgress(specs, SafeConsole(stderr=True)))
    recording, tellers = files.enter_context(recorders(outputs.record)), _tellers(outputs.forward)
    station = _station(outputs, query, waiting)
    if station is not None:
        for recorder in recording:
            station.evidence(recorder.keeper)
        if station.page is not None:
            final_steps.append(station.page.pictures.take)
    curious: list[Recorder | Direct] = [*recording, *tellers]
    final_steps += [each.take for each in curious]
    watching = [counts, progress, *(station.observers if station else ()), *curious, *observers]
    lines = [each for each in sinks if isinstance(each, JsonLines)]
    found = Audience(counts, Observers(watching), sinks, lines, final_steps, tellers, station, bool(recording))
    if outputs.events is not None or query.layout or curious:
        found.events = event_log(query, outputs.events, found.totals, found.observers, files)
        sinks.append(found.events)
        lines += [found.events.lines] if found.events.lines else []
    return found


def _tellers(sinks: Sinks) -> list[Direct]:
    """Who tells sinks; nobody where there are none."""
    if not sinks:
        return []
    from pipelines.observe.forward.direct import Direct  # the clients, which other runs do without

    return [Direct(sinks)]


def _station(outputs: Outputs, query: Query, waiting: frozenset[str]) -> Station | None:
    """Who serves page and metrics."""
    if outputs.listen is None:
        return None
    # aiohttp and Prometheus, which a run that nobody asks does without.
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station

    page = Page(query.name)
    page.board.layout, page.pictures.keeps_last = query.layout, outputs.stay
    station = Station(outputs.listen, page)
    station.never_late(waiting)
    station.keep_streams()
    return station
