"""One run of a query in this process, with everything a person gets from it: files, progress, report."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from cache_adapt.audit_state import Rule
from operators.frame import Frame
from operators.publish.annotate import Annotator
from operators.publish.jsonl import JsonLines
from operators.schema import Result, StreamPlan
from pipelines.audits import Audits
from pipelines.build import build_executor
from pipelines.embedded import EmbeddedRun, Sink
from pipelines.executor import Observer
from pipelines.models import backend
from pipelines.progress import RunProgress
from pipelines.query import Query
from pipelines.report import Report
from pipelines.report_text import render
from pipelines.sources import capture_specs
from pipelines.specializing import specializing
from pipelines.stopping import stop_loop_on_signals
from pipelines.timelines import Told
from serving.catalogue import Catalogue
from serving.errors import BadInput, SluiceError, SourceError
from specialization.specializer import ThreadSpecializer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outputs:
    """Where a run leaves what it found; None: nowhere."""

    results: str | None = None
    """JSON lines: a path, or ``-`` for stdout."""
    annotated: Path | None = None
    """A video or a directory of snapshots."""
    report: Path | None = None
    """A JSON file."""
    plots: Path | None = None
    """A directory for pictures of what specialization did."""


def run_query(query: Query, catalogue: Catalogue, outputs: Outputs, limit: int | None = None) -> dict[str, Any]:
    """Run until the sources end or a signal comes; prints and returns the report, and raises what went wrong."""
    console = Console(stderr=True)
    specs = capture_specs(query, limit=limit)
    report = Report()
    streams = [spec.stream for spec in specs]
    with ExitStack() as files:
        _check_writable(outputs)
        means = files.enter_context(specializing(catalogue, ThreadSpecializer()))
        audits = Audits(query.name, Rule(query.accuracy), means)
        sinks, observers = _open(outputs, streams, files)
        progress = files.enter_context(RunProgress(specs, console))
        run = EmbeddedRun(query.name, specs, [report, progress, *sinks], progress.status)
        started = time.monotonic()
        problem: SourceError | None = None
        try:
            asyncio.run(_run(query, catalogue, run, observers, audits))
        except SourceError as error:
            problem = error  # the other streams went on: their report is worth having
    plans, timelines = audits.plans(datetime.now(UTC), gone=True), audits.timelines()
    summary = report.summary(time.monotonic() - started, plans, timelines)
    if outputs.report is not None:
        outputs.report.write_text(json.dumps(summary, indent=2) + "\n")
    if summary["frames"]["sampled"] or problem is None:
        (console if outputs.results == "-" else Console()).print(render(summary))
    if outputs.plots is not None:
        _plot(outputs.plots, timelines, plans)
    if problem is not None:
        raise problem
    if summary["frames"]["failed"] and not summary["frames"]["analysed"]:
        raise SluiceError(f"no frame could be analysed: {next(iter(summary['causes']))}")
    return summary


async def _run(
    query: Query, catalogue: Catalogue, run: EmbeddedRun, observers: Sequence[Observer], audits: Audits
) -> None:
    engine = backend(catalogue)
    await engine.start()
    try:
        with stop_loop_on_signals() as stop:
            executor = await build_executor(query, engine, observers, audits)
            await run.run(executor, stop)
    finally:
        await audits.close()
        await engine.stop()


def _open(outputs: Outputs, streams: Sequence[str], files: ExitStack) -> tuple[list[Sink], list[Observer]]:
    sinks: list[Sink] = []
    observers: list[Observer] = []
    if outputs.results is not None:
        lines = JsonLines(outputs.results)
        files.callback(lines.close)
        sinks.append(lines)
    if outputs.annotated is not None:
        annotator = Annotator(outputs.annotated, streams)
        files.callback(annotator.close)
        sinks.append(annotator)
        observers.append(_observer(annotator))
    return sinks, observers


def _observer(annotator: Annotator) -> Observer:
    async def observe(frame: Frame, result: Result) -> None:
        await asyncio.to_thread(annotator.observe, frame, result)

    return observe


def _plot(directory: Path, timelines: Sequence[Told], plans: Sequence[StreamPlan]) -> None:
    from pipelines.timeline_plot import save_all  # half a second, which others need not wait for

    if not save_all(directory, timelines, plans):
        log.warning("--plots %s: nothing to draw: no node of the query specialises", directory)


def _check_writable(outputs: Outputs) -> None:
    """Before the work, not after it."""
    try:
        if outputs.report is not None:
            outputs.report.touch()
    except OSError as error:
        raise BadInput(f"cannot write the report to {outputs.report}: {error.strerror}; choose another file") from None
    try:
        if outputs.plots is not None:
            outputs.plots.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write pictures to {outputs.plots}: {error.strerror}; choose another folder") from None
