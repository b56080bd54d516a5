"""Runs of a query in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

from operators.capture.spec import CaptureSpec
from operators.extensions import NONE
from operators.observer import Observer, Observers
from pipelines.environment import catalogue
from pipelines.process.iterated import iterated
from pipelines.query.dag import CompiledQuery
from pipelines.query.look_ahead import streams_ahead
from pipelines.run.capture_specs import capture_specs
from pipelines.run.given import given
from pipelines.settings import hwaccel
from serving.errors import BadInput
from sluice.query import Query, own
from sluice.results import Result


def run(
    query: Query | str | Path,
    *sources: str | Path,
    frames: bool = False,
    progress: bool = False,
    limit: int | None = None,
    give_up_s: float | None = None,
    models: Sequence[str | Path] = (),
    observers: Sequence[Observer] = (),
    operators: Mapping[str, type[Any]] = NONE,
) -> Iterator[Result]:
    """Analyse streams in a thread beside yours, and yield a result for every sampled frame, those of a stream in order.

    ``query``: a ``Query`` or its file; or a clip or camera, which is looked at as ``sluice run`` does. ``sources`` take
    the place of the query's streams. ``frames``: results have their pictures. ``progress``: a bar for each stream, in a
    terminal or a notebook (by ipywidgets). ``limit``: so many frames of each stream. ``give_up_s``: end a stream
    whose camera gave no frame for so long; None: try for ever, which the log says, as a warning. ``models``: folders of
    models, searched first. ``operators``: classes of your own by the ``task`` they do.

    A file waits while you work on a result, a camera loses frames, each of which has a result that says so. The run
    ends with its sources, or once the iterator is closed or forgotten, as by ``break`` or an exception in the loop.
    Raises QueryError, ModelError, SourceError or BadInput for what cannot be run; a source that fails later ends its
    stream, and is raised when the others have ended.
    """
    return iterated(
        arun(
            query,
            *sources,
            frames=frames,
            progress=progress,
            limit=limit,
            give_up_s=give_up_s,
            models=models,
            observers=observers,
            operators=operators,
        )
    )


def arun(
    query: Query | str | Path,
    *sources: str | Path,
    frames: bool = False,
    progress: bool = False,
    limit: int | None = None,
    give_up_s: float | None = None,
    models: Sequence[str | Path] = (),
    observers: Sequence[Observer] = (),
    operators: Mapping[str, type[Any]] = NONE,
) -> AsyncGenerator[Result, None]:
    """Do the same on the running event loop; use it under ``contextlib.aclosing`` where you leave the loop early.

    A task that is cancelled ends it also while it waits for a frame.
    """
    _check(query, sources, limit, give_up_s, observers)
    models = [models] if isinstance(models, str | Path) else models
    wanted = _opened(query, list(map(str, sources)), models, own(operators))
    specs = capture_specs(wanted.query, limit=limit, give_up_s=give_up_s, hwaccel=hwaccel())
    return _results(wanted, specs, frames, progress, observers)


def _check(query: object, sources: Sequence[object], limit: object, give_up_s: object, observers: object) -> None:
    """Raise BadInput for what no type checker has seen."""
    if not isinstance(query, Query | str | Path):
        raise BadInput(f"a query is a sluice.Query or a path, not a {type(query).__name__}")
    for source in sources:
        if not isinstance(source, str | Path):
            what = f"a source is a path or an address, one by one, not a {type(source).__name__}"
            raise BadInput(f"{what}; the first webcam is 'v4l2:0'")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise BadInput(f"limit: is {limit!r}; a number of frames from 1 on, or None")
    if give_up_s is not None and not (isinstance(give_up_s, int | float) and give_up_s > 0):
        raise BadInput(f"give_up_s: is {give_up_s!r}; a number of seconds above 0, or None")
    if not isinstance(observers, Sequence):
        raise BadInput(f"observers: is a {type(observers).__name__}; a list of them")
    for observer in observers:
        if isinstance(observer, type):
            raise BadInput(f"observers: {observer.__name__} is a class: give an instance, {observer.__name__}()")
        if not isinstance(observer, Observer):
            raise BadInput(f"observers: {type(observer).__name__} does not extend sluice.Observer")


def _opened(
    query: Query | str | Path, sources: Sequence[str], models: Sequence[str | Path], operators: Mapping[str, type[Any]]
) -> CompiledQuery:
    known = catalogue(list(map(Path, models)))
    if isinstance(query, Query):
        return query._opened(known, sources, operators)
    with given(str(query), known, sources, hwaccel(), operators) as found:
        return found.wanted


async def _results(
    wanted: CompiledQuery, specs: Sequence[CaptureSpec], frames: bool, progress: bool, observers: Sequence[Observer]
) -> AsyncGenerator[Result, None]:
    # The engines, which a wrong query need not wait for.
    from pipelines.assembly.parts import Setting, assembled, lifecycles
    from pipelines.process.safe_console import SafeConsole
    from pipelines.process.signals import stop_when_hung
    from pipelines.run.captures import StateLog
    from pipelines.run.embedded import EmbeddedRun
    from pipelines.run.progress import RunProgress
    from serving.common.clock import SteadyClock

    with ExitStack() as shown:
        told = shown.enter_context(RunProgress(specs, SafeConsole(stderr=True))) if progress else StateLog()
        watching = Observers([told, *observers])
        played = EmbeddedRun(specs, watching, streams_ahead(wanted.query))
        setting, stop = Setting(clock=SteadyClock(), observers=watching), asyncio.Event()
        events = lifecycles(wanted.query, watching)
        shown.callback(events.finish)
        async with (
            assembled(wanted, setting) as parts,
            stop_when_hung(parts.hung, stop),
            aclosing(played.results(parts.executor, stop)) as answers,
        ):
            async for found in answers:
                events(found.result)
                yield Result.of(found.result, found.frame if frames else None)
