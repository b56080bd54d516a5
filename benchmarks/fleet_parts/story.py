"""What happens to the fleet: a backend is killed, one is added, the load triples, the leading scheduler is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleet_parts.installation import Installation, Sender
from operators.wire.schema import FleetPlacement, ProcessLoad, Result, from_json
from tests.real.process import Sluice, until
from tests.real.topic import Topics

EVENTS = ("start", "backend killed", "backend added", "load tripled", "leader killed", "end")


@dataclass(frozen=True)
class Pace:
    """How long it takes, and how many frames there are."""

    every_s: float = 10.0
    phase_s: float = 60.0
    fps: float = 0.7
    """Frames of each stream in a second."""


@dataclass(frozen=True)
class Told:
    """All that was said on the broker, and when what happened; seconds since the first event."""

    events: Mapping[str, float]
    results: list[tuple[float, Result]]
    loads: list[tuple[float, ProcessLoad]]
    placements: list[tuple[float, FleetPlacement]]
    sent: int


def told(folder: Path, bootstrap: str, prefix: str, pace: Pace) -> Told:
    """Run the story."""
    events: dict[str, float] = {}
    stop = threading.Event()
    with ExitStack() as running:
        fleet = Installation(folder, bootstrap, prefix, running)
        for name in ("a", "b", "c"):
            fleet.backend(name)
        schedulers = [fleet.scheduler(f"s{number}", pace.every_s) for number in range(2)]
        worker = fleet.worker()
        topics = running.enter_context(Topics(bootstrap, prefix))
        sender = Sender(bootstrap, f"{prefix}frames.v1", pace.fps)
        sending = threading.Thread(target=sender.run, args=(stop,))
        sending.start()
        running.callback(stop.set)
        until(lambda: serving(topics), "a placement that serves all", worker, *schedulers, timeout_s=300)
        for event in EVENTS[:-1]:
            events[event] = time.time()
            match event:
                case "backend killed":
                    fleet.backends[busiest(topics)].command.kill()
                case "backend added":
                    fleet.backend("d")
                case "load tripled":
                    sender.fps = 3 * pace.fps
                case "leader killed":
                    leading(schedulers).kill()
            time.sleep(pace.phase_s)
        events["end"] = time.time()
        stop.set()
        sending.join()
        until(lambda: topics.count("results") >= sender.sent, "all results", worker, timeout_s=120)
        time.sleep(2)
        first_s = events["start"]
        at = {name: when - first_s for name, when in events.items()}
        results = [(result.frame.captured_at.timestamp() - first_s, result) for result in topics.results()]
        loads = [from_json(each.value, ProcessLoad) for each in topics.messages("load")]
        placements = [from_json(each.value, FleetPlacement) for each in topics.messages("placement")]
        return Told(
            at,
            results,
            [(each.at.timestamp() - first_s, each) for each in loads],
            [(each.at.timestamp() - first_s, each) for each in placements],
            sender.sent,
        )


def serving(topics: Topics) -> bool:
    """Whether a placement places all networks."""
    found = topics.messages("placement")
    last = from_json(found[-1].value, FleetPlacement) if found else None
    return last is not None and len({each.model for backend in last.backends for each in backend.sessions}) == 3


def busiest(topics: Topics) -> str:
    """The backend that is to serve the most."""
    last = from_json(topics.messages("placement")[-1].value, FleetPlacement)
    return max(last.backends, key=lambda each: sum(session.rate for session in each.sessions)).name


def leading(schedulers: list[Sluice]) -> Sluice:
    """The scheduler that was last given the lead, or the first."""
    said = [[line for line in each.errors.splitlines() if "this scheduler" in line][-1:] for each in schedulers]
    return next(
        (each for each, line in zip(schedulers, said, strict=True) if line and line[0].endswith("leads")), schedulers[0]
    )
