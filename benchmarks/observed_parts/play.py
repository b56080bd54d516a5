"""The run that is measured, and its turns."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import av

from benchmarks.observed_parts.meter import Meter
from datasets.video import write_mp4
from operators.frames.frame import Frame
from operators.observer import HOOKS, Observer, Observers
from operators.wire.schema import Result
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.execute.executor import Executor
from pipelines.observe.live import pictures
from pipelines.observe.live.page import Page
from pipelines.observe.station import Station
from pipelines.observe.web.listen import Listen
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from tests.real.ports import free_port

STATES = ("plain", "served", "watched")
STREAMS, FPS, CLIP_S = 4, 25, 4.0
SETTLE_S = 0.5
"""Time at the beginning of a turn that is not measured."""
STREET = Path(__file__).parents[2] / "examples" / "street.mp4"
NODES = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "track", "task": "track", "input": "detect"},
    {"name": "type", "task": "recognise", "input": "track", "model": "vehicle-type-compact", "specialize": False},
]


@dataclass(frozen=True)
class Turn:
    """Some seconds of the run."""

    round: int
    state: str
    frames: int
    processor_s: float
    """What the whole process took."""
    observing_s: float
    """What was counted of it for metrics and page."""
    wall_s: float

    @property
    def ms_per_frame(self) -> float:
        """Processor time of the process for each analysed frame."""
        return 1000 * self.processor_s / max(1, self.frames)

    def row(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "round": self.round,
            "state": self.state,
            "frames": self.frames,
            "processor_s": round(self.processor_s, 4),
            "observing_s": round(self.observing_s, 5),
            "wall_s": round(self.wall_s, 3),
            "ms_per_frame": round(self.ms_per_frame, 4),
        }


class Switch(Observer):
    """Passes on what it hears while it is on, and counts the frames that were analysed."""

    def __init__(self, behind: Observers, meter: Meter) -> None:
        self.on, self.frames = False, 0
        for hook in set(HOOKS) & vars(behind).keys():  # those that somebody wants to hear
            setattr(self, hook, self._passing(meter.counted(getattr(behind, hook)), hook == "frame_analysed"))

    def _passing(self, tell: Callable[..., None], counts: bool) -> Callable[..., None]:
        def heard(*said: Any) -> None:
            self.frames += counts
            if self.on:
                tell(*said)

        return heard


def play(folder: Path, rounds: int) -> list[Turn]:
    """Every state once in each round."""
    return asyncio.run(_play(folder, rounds))


async def _to_the_end(run: EmbeddedRun, executor: Executor, stop: asyncio.Event) -> None:
    async for _ in run.results(executor, stop):
        pass


async def _play(folder: Path, rounds: int) -> list[Turn]:
    query, page = _query(_clip(folder)), Page("observed")
    listen = Listen("127.0.0.1", free_port())
    station = Station(listen, page)
    meter = Meter()
    meter.watch(asyncio.get_running_loop())
    pictures._encoded = meter.counted(pictures._encoded)
    switch = Switch(Observers(station.observers), meter)

    async def show(frame: Frame, result: Result) -> None:
        if switch.on:
            began_s = time.thread_time()
            await page.pictures.take(frame, result)  # which does not wait
            meter.add(time.thread_time() - began_s)

    watching = Observers([switch])
    setting = Setting([show], observers=watching)
    run = EmbeddedRun(capture_specs(query, realtime=True, loop=True), watching)
    stop, turns = asyncio.Event(), list[Turn]()
    async with station.open(), assembled(compiled(query, catalogue([])), setting) as parts:
        station.knows(parts.shortcuts.plans)
        running = asyncio.create_task(_to_the_end(run, parts.executor, stop))
        await asyncio.sleep(3 * CLIP_S)
        rng = random.Random(0)
        for number in range(rounds):
            for state in rng.sample(STATES, len(STATES)):
                turns.append(await _turn((number, state), switch, meter, listen))
        stop.set()
        await running
    return turns


async def _turn(which: tuple[int, str], switch: Switch, meter: Meter, listen: Listen) -> Turn:
    switch.on = which[1] != "plain"
    async with _viewer(listen, which[1] == "watched"):
        await asyncio.sleep(SETTLE_S)
        began = _readings(switch, meter)
        await asyncio.sleep(CLIP_S)
        frames, *seconds = (after - before for before, after in zip(began, _readings(switch, meter), strict=True))
        return Turn(*which, int(frames), *seconds)


def _readings(switch: Switch, meter: Meter) -> tuple[float, float, float, float]:
    return switch.frames, time.process_time(), meter.spent_s, time.monotonic()


@asynccontextmanager
async def _viewer(listen: Listen, wanted: bool) -> AsyncIterator[None]:
    """A reader of the wall in a process of its own, while the block runs."""
    if not wanted:
        yield
        return
    command = ("curl", "--silent", "--no-buffer", "--output", "/dev/null", f"http://{listen}/live")
    reader = await asyncio.create_subprocess_exec(*command)
    try:
        yield
    finally:
        reader.kill()
        await reader.wait()


def _query(clip: Path) -> Query:
    streams = [{"id": f"cam{number}", "uri": str(clip)} for number in range(STREAMS)]
    return Query.model_validate({"version": 1, "name": "observed", "slo_ms": 1000, "streams": streams, "nodes": NODES})


def _clip(folder: Path) -> Path:
    """Some seconds of the street, faster than they were."""
    path = folder / "clip.mp4"
    with av.open(str(STREET)) as video:
        images = (frame.to_ndarray(format="bgr24") for frame in video.decode(video=0))
        write_mp4(path, islice(images, int(FPS * CLIP_S)), FPS)
    return path
