"""What an offline job costs live streams: the share of their frames in time, with the job and without it, in turns.

Two cameras (clips at their own pace, 5 frames a second, ``yolox-nano`` and a tracker, within 250 ms) go through a real
broker and one ``sluice worker``, which is given an archive too. Through all turns the cameras go on. In every second
turn a job over the archive, sampled alike, is before the worker; at the turn's end it is cancelled, and it goes on in
the next. ``in_time`` is the share of the frames captured in a turn, but its first seconds, whose results kept to the
deadline; what was dropped or failed was not in time. ``lost`` is what the job costs of it, in points. When the archive
is done, or after ``MOST_TURNS``, its results are counted: each frame that a decoder yields must be there once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import VIDEOS
from benchmarks.tracks_video_parts.looped import looped
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.wire.schema import Result, from_json
from tests.integration.kafka_side import read_all
from tests.real.kafka import KafkaBroker, require_jars

CAMERAS = ("one-by-one-person-detection.mp4", "car-detection.mp4")
ARCHIVE_S, RECORDING_S = 1200.0, 240.0
QUICK_S = 30.0
TURN_S, QUICK_TURN_S = 30.0, 8.0
MOST_TURNS, QUICK_TURNS = 20, 2
SETTLES_S = 3.0
"""Seconds at the beginning of a turn that are not counted: a job begins or ends in them."""
FPS = 5.0
SLUICE = Path(sys.executable).with_name("sluice")
QUERY = """
version: 1
name: {name}
slo_ms: 250
learning: {{budget: 0}}
streams: {streams}
nodes:
  - {{name: detect, task: detect, model: yolox-nano}}
  - {{name: track, task: track, input: detect}}
"""


@dataclass(frozen=True)
class Turn:
    """A time in which the job was before the worker, or not."""

    job: bool
    begun: datetime
    ended: datetime


class Site:
    """A broker, cameras, a worker, and an archive."""

    def __init__(self, folder: Path, broker: KafkaBroker, archive_s: float) -> None:
        self._folder, self._broker = folder, broker
        self.archive, self.results = folder / "archive", folder / "results"
        self.archive.mkdir()
        clips = sorted(VIDEOS.glob("*.mp4"))
        count = max(1, round(archive_s / RECORDING_S))
        for number in range(count):
            made = looped(folder, clips[number % len(clips)], archive_s / count)
            made.rename(self.archive / f"cam{number}.mp4")
        streams = [f"{{uri: '{(VIDEOS / name).resolve()}', sample: {{fps: {FPS:g}}}}}" for name in CAMERAS]
        self._live = self._query("live", f"[{', '.join(streams)}]")
        self._job = self._query("job", f"[{{uri: unused.mp4, sample: {{fps: {FPS:g}}}}}]")
        self._models = models("yolox-nano", folder / "models")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Cameras and worker, until the block ends."""
        self.said("topics", "create", self._live)
        folders = "--archive", self.archive, "--job-results", self.results
        with ExitStack() as stack:
            stack.enter_context(self._started("worker", self._live, "--models", self._models, *folders))
            stack.enter_context(self._started("capture", self._live, "--realtime", "--loop"))
            for _ in range(60):
                if self.live():
                    break
                time.sleep(1)
            else:
                raise RuntimeError("no live frame was analysed within a minute")
            yield

    def submit(self) -> None:
        source = "--source", self.archive / "*.mp4", "--archive", self.archive, "--models", self._models
        self.said("submit", self._job, *source, "--out", "archive.jsonl")

    def cancel(self) -> None:
        self.said("submit", "--cancel", "archive")

    def live(self) -> list[Result]:
        """The results of the cameras' frames."""
        return [from_json(each.value, Result) for each in read_all(self._broker.bootstrap, "sluice.results.v1")]

    def found(self) -> dict[str, list[tuple[int, float]]]:
        """Places and times of the job's results, by recording."""
        return {
            file.stem: [(each["seq"], each["frame"]["media_time_s"]) for each in map(json.loads, file.open())]
            for file in self.results.glob("archive/*.jsonl")
        }

    def expected(self) -> dict[str, list[tuple[int, float]]]:
        """What a decoder yields of the archive."""
        return {file.stem: list(enumerate(_times(file))) for file in self.archive.glob("*.mp4")}

    def said(self, *arguments: object) -> str:
        done = subprocess.run([SLUICE, *map(str, arguments), *self._at], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    @property
    def _at(self) -> tuple[str, str]:
        return "--broker", f"kafka://{self._broker.bootstrap}"

    def _query(self, name: str, streams: str) -> Path:
        path = self._folder / f"{name}.yaml"
        path.write_text(QUERY.format(name=name, streams=streams))
        return path

    @contextmanager
    def _started(self, *arguments: object) -> Iterator[None]:
        with (self._folder / f"{arguments[0]}.err").open("wb") as log:
            process = subprocess.Popen([SLUICE, *map(str, arguments), *self._at], stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def _times(file: Path) -> Iterator[float]:
    source = open_source(SourceUri(str(file)), Sampling("fps", FPS), 64)
    yield from (each.media_time_s for each in source.pictures())


def turns_of(site: Site, whole: int, length_s: float, most: int) -> list[Turn]:
    """Alternate, beginning without the job, until the archive is done, which has ``whole`` frames."""
    found: list[Turn] = []
    while len(found) < most and (len(found) % 2 or sum(map(len, site.found().values())) < whole):
        job, begun = len(found) % 2 == 1, datetime.now(UTC)
        if job:
            site.submit()
        time.sleep(length_s)
        ended = datetime.now(UTC)
        if job:
            site.cancel()
        found.append(Turn(job, begun, ended))
    return found


def rows_of(turns: Sequence[Turn], live: Sequence[Result]) -> list[dict[str, Any]]:
    """A row for each turn."""
    rows = []
    for number, turn in enumerate(turns):
        frames = [each for each in live if _within(each, turn)]
        in_time = sum(each.outcome == "analysed" and each.plan.deadline_met for each in frames)
        latencies = sorted(each.plan.latency_ms for each in frames if each.outcome == "analysed")
        rows.append(
            {
                "turn": number,
                "job": int(turn.job),
                "frames": len(frames),
                "in_time": round(in_time / max(1, len(frames)), 4),
                "p95_ms": round(latencies[int(0.95 * len(latencies))], 1) if latencies else None,
            }
        )
    return rows


def _within(result: Result, turn: Turn) -> bool:
    since_s = (result.frame.captured_at - turn.begun).total_seconds()
    return since_s >= SETTLES_S and result.frame.captured_at < turn.ended


def share(rows: Sequence[Mapping[str, Any]], job: int) -> float:
    """The share in time of all frames of such turns."""
    frames = {row["turn"]: int(row["frames"]) for row in rows if row["job"] == job}
    in_time = sum(frames[row["turn"]] * float(row["in_time"]) for row in rows if row["job"] == job)
    return in_time / max(1, sum(frames.values()))


def measure(quick: bool) -> harness.Outcome:
    """Play the turns."""
    require_jars()
    length_s, most = (QUICK_TURN_S, QUICK_TURNS) if quick else (TURN_S, MOST_TURNS)
    with tempfile.TemporaryDirectory() as folder, KafkaBroker() as broker:
        site = Site(Path(folder), broker, QUICK_S if quick else ARCHIVE_S)
        expected = site.expected()  # before anything is timed, for it decodes the whole archive
        with site.running():
            turns = turns_of(site, sum(map(len, expected.values())), length_s, most)
            time.sleep(SETTLES_S)
            rows, found = rows_of(turns, site.live()), site.found()
    frames, job_s = (
        sum(map(len, found.values())),
        sum((each.ended - each.begun).total_seconds() for each in turns if each.job),
    )
    headline = {
        "in_time_without": round(share(rows, 0), 4),
        "in_time_with": round(share(rows, 1), 4),
        "lost": round(share(rows, 0) - share(rows, 1), 4),
        "archive_frames": sum(map(len, expected.values())),
        "job_frames": frames,
        "job_frames_per_s": round(frames / max(1e-9, job_s), 1),
        "every_frame_once": all(each == expected[name][: len(each)] for name, each in found.items()),
        "archive_done": found == expected,
        "turns": len(turns),
    }
    return harness.Outcome(rows, headline, lambda figure: _draw(figure, rows))


def _draw(figure: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    axes = figure.subplots()
    for job, colour, label in ((0, "tab:blue", "without the job"), (1, "tab:orange", "with it")):
        chosen = [row for row in rows if row["job"] == job]
        axes.bar([row["turn"] for row in chosen], [row["in_time"] for row in chosen], color=colour, label=label)
    axes.set_ylim(0.9, 1.002)
    axes.set_xlabel("turn")
    axes.set_ylabel("live frames in time")
    axes.set_title("A job over an archive beside live streams")
    axes.legend(loc="lower right")


if __name__ == "__main__":
    harness.run("jobs", measure, __doc__)
