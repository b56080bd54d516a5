"""Two queries on one worker against two workers with one each, on the same frames of a real broker.

Processor seconds of the workers from when they begin to their last results, for a frame and a query. ``alike``: one
query counts what a detector finds and tracks, and the other also names it. ``apart``: their nodes have nothing in
common, so that the frame alone is shared.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import yaml
from kafka import KafkaConsumer, TopicPartition

from benchmarks.harness import Outcome, interleaved, mean_ratio, run
from benchmarks.recogniser_parts.looks import fetch
from operators.wire.schema import Result, from_json
from tests.real.broker import KafkaBroker
from tests.real.command import sluice
from tests.real.process import Sluice, until

STREAMS, FPS = 2, 10
RESULTS = "sluice.results.v1"
DETECT = {"name": "vehicles", "task": "detect", "model": "yolox-nano"}
TRACK = {"name": "tracks", "task": "track", "input": "vehicles"}
TYPE = {"name": "type", "task": "recognise", "input": "tracks", "model": "vehicle-type", "specialize": False}
MOVES = {"name": "moves", "task": "detect", "model": "motion"}
WORKLOADS: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]] = {
    "alike": ([DETECT, TRACK], [DETECT, TRACK, TYPE]),
    "apart": ([MOVES], [DETECT, TRACK]),
}
WAYS = ONE, TWO = "one worker", "two workers"


@dataclass(frozen=True)
class Place:
    """A broker whose frames topic is full, and where files lie."""

    bootstrap: str
    folder: Path
    frames: int

    def query(self, path: Path, name: str, nodes: Sequence[Mapping[str, Any]]) -> Path:
        """A query file."""
        seconds = self.frames / STREAMS / FPS
        uris = [f"synthetic:street?seed={seed}&duration_s={seconds:g}&fps={FPS}" for seed in range(STREAMS)]
        streams = [{"uri": uri, "id": f"cam-{number}"} for number, uri in enumerate(uris)]
        said = {"version": 1, "name": name, "slo_ms": 60_000, "streams": streams, "nodes": list(nodes)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(said | {"learning": {"budget": 0}}))
        return path


@contextmanager
def filled(frames: int) -> Iterator[Place]:
    """A broker with so many frames."""
    with tempfile.TemporaryDirectory(prefix="sluice-queries-") as folder, KafkaBroker() as broker:
        place = Place(broker.bootstrap, Path(folder), frames)
        fetch("yolox-nano", place.folder / "models")
        query = place.query(place.folder / "fill.yaml", "fill", [MOVES])
        for command in ("topics", "create", query), ("capture", query):
            said = sluice(*command, "--broker", f"kafka://{broker.bootstrap}")
            assert said.returncode == 0, said.stderr
        yield place


def measure(place: Place, workload: str, way: str) -> float:
    """Milliseconds of processor time for a frame and a query."""
    mark = uuid.uuid4().hex[:8]
    folder = place.folder / mark
    names = [f"{workload}-{number}-{mark}" for number in range(len(WORKLOADS[workload]))]
    files = [
        place.query(folder / f"{name}.yaml", name, nodes)
        for name, nodes in zip(names, WORKLOADS[workload], strict=True)
    ]
    models = ("--models", place.folder / "models")
    commands = [["worker", folder, *models]] if way == ONE else [["worker", file, *models] for file in files]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Sluice(folder / f"home-{number}", *command, broker=place.bootstrap))
            for number, command in enumerate(commands)
        ]
        results = stack.enter_context(Results(place.bootstrap, names))
        begun: dict[Sluice, float] = {}

        def all_begun() -> bool:
            for each in workers:
                if each not in begun and "analysing" in each.errors:
                    begun[each] = _processor_s(each)
            return len(begun) == len(workers)

        until(all_begun, "the workers", *workers)
        until(lambda: min(results.counts().values()) >= place.frames, "all results", *workers)
        took_s = sum(_processor_s(each) - begun[each] for each in workers)
    shutil.rmtree(folder)
    return 1000 * took_s / (len(names) * place.frames)


class Results:
    """How many results queries have by now."""

    def __init__(self, bootstrap: str, names: Sequence[str]) -> None:
        self._counts = dict.fromkeys(names, 0)
        self._consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="latest")
        numbers = self._consumer.partitions_for_topic(RESULTS) or ()
        places = [TopicPartition(RESULTS, number) for number in numbers]
        self._consumer.assign(places)
        self._consumer.seek_to_end()
        for place in places:
            self._consumer.position(place)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def counts(self) -> dict[str, int]:
        """By query."""
        for records in self._consumer.poll(timeout_ms=200, max_records=5000).values():
            for record in records:
                result = from_json(record.value, Result)
                assert result.outcome == "analysed", result.cause
                if result.query in self._counts:
                    self._counts[result.query] += 1
        return self._counts


def _processor_s(worker: Sluice) -> float:
    times = psutil.Process(worker.process.pid).cpu_times()
    return times.user + times.system


def compare(quick: bool) -> Outcome:
    """Interleave the ways, round after round."""
    frames, rounds = (60, 1) if quick else (400, 4)
    with filled(frames) as place:
        ways = {(workload, way): partial(measure, place, workload, way) for workload in WORKLOADS for way in WAYS}
        found = interleaved(ways, rounds)
    rows = [
        {"workload": workload, "way": way, "round": number, "ms_per_frame_and_query": round(ms, 3)}
        for (workload, way), measured in found.items()
        for number, ms in enumerate(measured)
    ]
    ratios = {
        workload: mean_ratio([one / two for one, two in zip(found[workload, ONE], found[workload, TWO], strict=True)])
        for workload in WORKLOADS
    }
    return Outcome(rows, {f"one_of_two_{workload}": ratio for workload, ratio in ratios.items()}, partial(_draw, rows))


def _draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    axes = figure.subplots()
    for offset, (way, colour) in enumerate(zip(WAYS, ("#2a7", "#bbb"), strict=True)):
        for place, workload in enumerate(WORKLOADS):
            of = [each["ms_per_frame_and_query"] for each in rows if (each["workload"], each["way"]) == (workload, way)]
            label = None if place else way
            axes.bar(place + 0.4 * offset, sum(of) / len(of), 0.38, color=colour, label=label)
            axes.plot([place + 0.4 * offset] * len(of), of, "k.", markersize=3)
    axes.set_xticks([place + 0.2 for place in range(len(WORKLOADS))], list(WORKLOADS))
    axes.set_ylabel("processor ms for a frame and a query")
    axes.legend()


if __name__ == "__main__":
    run("queries", compare, __doc__ or "")
