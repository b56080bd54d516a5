"""One run of a query in this process, with everything a person gets from it: files, progress, report."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from operators.observer import Observer, Observers
from operators.zones.totals import Totals
from pipelines.assembly.parts import Setting, assembled
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.execute.surroundings import FinalStep
from pipelines.observe.forward.sink import Sinks
from pipelines.observe.record.recorder import recorders
from pipelines.observe.web.listen import Listen
from pipelines.process.safe_console import SafeConsole
from pipelines.process.signals import stop_loop_on_signals, stop_when_threads_are_lost
from pipelines.query.dag import Dag
from pipelines.query.look_ahead import streams_ahead
from pipelines.query.query_file import Query
from pipelines.report.plan_plot import PlanHistory
from pipelines.report.run_counts import RunCounts
from pipelines.report.run_report import RunReport
from pipelines.report.text import render
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.outputs import Outputs, check_writable, event_log, open_files, plot
from pipelines.run.progress import RunProgress
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SteadyClock
from serving.errors import SluiceError, SourceError
from specialization.trainer.trainer import ThreadSpecializer

if TYPE_CHECKING:
    from pipelines.observe.forward.direct import Direct
    from pipelines.observe.record.recorder import Recorder
    from pipelines.observe.station import Station

log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""How long audits that wait may take once there are no more frames, for the sake of the report."""


def run_query(
    query: Query,
    dag: Dag,
    catalogue: Catalogue,
    outputs: Outputs,
    limit: int | None = None,
    give_up_s: float | None = None,
    observers: Sequence[Observer] = (),
) -> RunReport:
    """Run until the sources end or a signal comes; prints and returns the report, and raises what went wrong."""
    console = SafeConsole(stderr=True)
    specs = capture_specs(query, limit=limit, give_up_s=give_up_s)
    unhurried = {stream.id for stream in query.streams if not stream.uri.live and stream.overload_policy == "block"}
    counts = RunCounts(unhurried)
    with ExitStack() as files:
        check_writable(outputs)
        sinks, final_steps = open_files(outputs, query, unhurried, files)
        progress = files.enter_context(RunProgress(specs, console))
        station = _station(outputs.listen, query, final_steps, unhurried)
        teller = _teller(outputs.forward)
        curious: list[Recorder | Direct] = [*files.enter_context(recorders(outputs.record)), *teller]
        final_steps += [each.take for each in curious]
        watching = Observers([counts, progress, *(station.observers if station else ()), *curious, *observers])
        totals, finish = Totals(), list[Callable[[], None]]()
        if outputs.events is not None or query.layout or curious:
            events = event_log(query, outputs.events, totals, watching, files)
            sinks.append(events)
            finish.append(events.finish)
        history = PlanHistory()
        if outputs.plots is not None:
            sinks.append(history)
        run = EmbeddedRun(query.name, specs, sinks, watching, streams_ahead(query))
        setting = Setting(ThreadSpecializer(), final_steps, CLOSE_S, clock=SteadyClock(), observers=watching)
        started = time.monotonic()

        async def everything() -> tuple[Shortcuts, SourceError | None]:
            async with AsyncExitStack() as stack:
                for each in teller:
                    await stack.enter_async_context(each.running(watching))
                for end in finish:
                    stack.callback(end)
                return await _run(query, dag, catalogue, setting, run, station)

        shortcuts, problem = asyncio.run(everything())
    plans, timelines = shortcuts.plans(datetime.now(UTC), gone=True), shortcuts.timelines()
    report = counts.report(time.monotonic() - started, plans, timelines)
    report = msgspec.structs.replace(report, lines=totals.lines(), zones=totals.zones())
    if outputs.report is not None:
        outputs.report.write_text(json.dumps(report.to_builtins(), indent=2) + "\n")
    if report.frames.sampled or problem is None:
        (console if outputs.results == "-" else SafeConsole()).print(render(report))
    if outputs.plots is not None:
        plot(outputs.plots, timelines, plans, history)
    if problem is not None:
        raise problem
    if report.frames.failed and not report.frames.analysed:
        raise SluiceError(f"no frame could be analysed: {next(iter(report.causes))}")
    return report


async def _run(
    query: Query, dag: Dag, catalogue: Catalogue, setting: Setting, run: EmbeddedRun, station: Station | None
) -> tuple[Shortcuts, SourceError | None]:
    """What shortcuts did, and what went wrong with a source: the report of the other streams is worth having."""
    async with station.open() if station else nullcontext(), assembled(query, dag, catalogue, setting) as parts:
        if station is not None:
            station.knows(parts.shortcuts.plans)
        try:
            with stop_loop_on_signals() as stop:
                async with stop_when_threads_are_lost(stop):
                    await run.run(parts.executor, stop)
        except SourceError as error:
            return parts.shortcuts, error
    return parts.shortcuts, None


def _teller(sinks: Sinks) -> list[Direct]:
    """Who tells sinks; nobody where there are none."""
    if not sinks:
        return []
    from pipelines.observe.forward.direct import Direct  # the clients, which other runs do without

    return [Direct(sinks)]


def _station(listen: Listen | None, query: Query, final_steps: list[FinalStep], unhurried: set[str]) -> Station | None:
    """Who serves page and metrics; its pictures are made by a further final step."""
    if listen is None:
        return None
    # aiohttp and Prometheus, which a run that nobody asks does without.
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station

    page = Page(query.name)
    page.board.layout = query.layout
    final_steps.append(page.pictures.take)
    station = Station(listen, page)
    station.never_late(unhurried)
    return station
