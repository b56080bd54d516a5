"""One run of a query in this process, with everything a person gets from it: files, progress, report."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import msgspec

from operators.capture.sources.hardware import SOFTWARE
from operators.capture.spec import CaptureSpec
from operators.observer import Observer
from pipelines.assembly.parts import Setting, assembled
from pipelines.assembly.registry import Shortcuts
from pipelines.process.heap import giving_back
from pipelines.process.safe_console import SafeConsole
from pipelines.process.signals import Stop, stop_loop_on_signals, stop_when_hung
from pipelines.process.tasks import meanwhile
from pipelines.process.tuning import tuned
from pipelines.query.dag import CompiledQuery
from pipelines.query.look_ahead import streams_ahead
from pipelines.report.run_report import RunReport
from pipelines.report.text import render
from pipelines.run.audience import Audience, audience
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.outputs import Outputs, check_writable
from serving.common.clock import SteadyClock
from serving.errors import SluiceError, SourceError

log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""How long audits that wait may take once there are no more frames, for the sake of the report."""


def run_query(
    wanted: CompiledQuery,
    outputs: Outputs,
    limit: int | None = None,
    give_up_s: float | None = None,
    observers: Sequence[Observer] = (),
    hwaccel: str = SOFTWARE,
    loop: bool = False,
) -> RunReport:
    """Run until the sources end or a signal comes; prints and returns the report, and raises what went wrong."""
    specs = capture_specs(wanted.query, limit=limit, loop=loop, give_up_s=give_up_s, hwaccel=hwaccel)
    with ExitStack() as files:
        check_writable(outputs)
        listening = audience(wanted.query, specs, outputs, observers, files)
        ended = _Ended(outputs, listening, files, time.monotonic())
        with tuned():
            report, problem = asyncio.run(_serve(wanted, specs, listening, ended))
    if problem is not None:
        raise problem
    if report.frames.failed and not report.frames.analysed:
        raise SluiceError(f"no frame could be analysed: {next(iter(report.causes))}")
    return report


async def _serve(
    wanted: CompiledQuery, specs: Sequence[CaptureSpec], listening: Audience, ended: _Ended
) -> tuple[RunReport, SourceError | None]:
    """Run, report, and keep the page for as long as it is wanted."""
    with stop_loop_on_signals() as stop:
        async with listening.served(), meanwhile(giving_back()):
            shortcuts, problem, over_s = await _run(wanted, specs, listening, stop)
            report = ended.report(shortcuts, problem, over_s)
            if ended.outputs.stay and not stop.is_set():
                log.info("the page stays until Ctrl-C")
                await stop.wait()
    return report, problem


async def _run(
    wanted: CompiledQuery, specs: Sequence[CaptureSpec], listening: Audience, stop: Stop
) -> tuple[Shortcuts, SourceError | None, float]:
    """Also where a source failed: the report of the other streams is worth having. The last is when it was over,
    whatever sinks that are away still waited for."""
    query, observers, station = wanted.query, listening.observers, listening.station
    run = EmbeddedRun(specs, observers, streams_ahead(query), listening.keeps_frames, listening.trouble)
    setting = Setting(listening.final_steps, CLOSE_S, clock=SteadyClock(), observers=observers, stop=stop)
    problem: SourceError | None = None
    async with listening.attending(stop):
        async with assembled(wanted, setting) as parts:
            if station is not None:
                station.knows(partial(parts.shortcuts.plans, gone=True))  # its page may stay when they have ended
            try:
                async with stop_when_hung(parts.hung, stop), aclosing(run.results(parts.executor, stop)) as results:
                    async for found in results:
                        for sink in listening.sinks:
                            sink.write(found.result)
                        await listening.taken(stop)
            except SourceError as error:
                problem = error
        over_s = time.monotonic()
    return parts.shortcuts, problem, over_s


@dataclass(frozen=True)
class _Ended:
    """The end of a run, once there are no more frames."""

    outputs: Outputs
    listening: Audience
    files: ExitStack
    started_s: float

    def report(self, shortcuts: Shortcuts, problem: SourceError | None, over_s: float) -> RunReport:
        """Close what was written, print the report and save it."""
        self.files.close()
        report = _report(self.listening, shortcuts, over_s - self.started_s)
        if report.frames.sampled or problem is None:
            lines = (self.outputs.results, self.outputs.events)
            SafeConsole(stderr="-" in lines).print(render(report))
        if self.outputs.report is not None:
            try:
                self.outputs.report.write_text(json.dumps(report.to_builtins(), indent=2) + "\n")
            except OSError as error:
                why = f"cannot write the report to {self.outputs.report}: {error.strerror}"
                raise SluiceError(why) from None
        return report


def _report(listening: Audience, shortcuts: Shortcuts, took_s: float) -> RunReport:
    plans = shortcuts.plans(datetime.now(UTC), gone=True)
    report = listening.counts.report(took_s, plans)
    return msgspec.structs.replace(report, lines=listening.totals.lines(), zones=listening.totals.zones())
