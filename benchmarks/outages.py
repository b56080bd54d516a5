"""Ten thousand frames whose recogniser is on a backend that fails: does each get one outcome, and no wrong name?

A generated street, once, through ``sluice run``: motion finds objects, and ``vehicle-type-compact`` looks at each, on a
backend first and in this process where that is down. By the frames that have results the backend is killed, comes back,
stands still (SIGSTOP), goes on, is exchanged for one that serves another network under the same name, and is exchanged
again. The same frames with the network of the process alone say what every object is to be called. ``there`` and
``here`` are shares of the looks; ``wrong`` counts objects with another name, or another confidence, than alone.
"""

from __future__ import annotations

import json
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from benchmarks import harness
from tests.integration.backend_process import backend_process
from tests.models import relatives
from tests.real.process import Sluice, until

FRAMES, QUICK_FRAMES, FPS = 10_000, 600, 10
MODEL = "vehicle-type-compact"
LONGEST_S, OUT = 3600.0, "results.jsonl"
STREET = "synthetic:street?seed=61&density=2&width=640&height=360&fps={}&duration_s={:g}"
EVENTS = ("serves", "killed", "is back", "stands still", "goes on", "is another", "is itself again")
"""The states of the backend; each lasts for as many frames."""
Answer = tuple[str, float, str]
"""A label, its confidence, and who looked: the backend's name, empty for this process."""


def measure(quick: bool) -> harness.Outcome:
    """``quick``: some hundred frames."""
    frames = QUICK_FRAMES if quick else FRAMES
    with tempfile.TemporaryDirectory(prefix="sluice-outages-") as scratch:
        folder = Path(scratch)
        alone = _said(_alone(folder / "alone", frames))
        lines, marks = _broken(folder, frames)
    found = list(rows(frames, lines, alone, marks))
    return harness.Outcome(found, headline(found), partial(draw, found))


def rows(
    frames: int, lines: Sequence[Mapping[str, Any]], alone: Mapping[tuple[int, int], Answer], marks: Sequence[int]
) -> Iterator[harness.Row]:
    """``marks``: the results that there were when each state but the first began."""
    results = Counter(int(line["seq"]) for line in lines)
    said, ended = _said(lines), {int(line["seq"]): line["outcome"] for line in lines}
    for event, begin, end in zip(EVENTS, (0, *marks), (*marks, frames), strict=True):
        mine = {key: each for key, each in said.items() if begin <= key[0] < end}
        there = sum(bool(where) for _, _, where in mine.values())
        wanted = {key: each[:2] for key, each in alone.items() if begin <= key[0] < end}
        yield {
            "backend": event,
            "frames": end - begin,
            "analysed": sum(ended.get(seq) == "analysed" for seq in range(begin, end)),
            "without_result": sum(not results[seq] for seq in range(begin, end)),
            "results_twice": sum(results[seq] > 1 for seq in range(begin, end)),
            "looks": len(mine),
            "there": round(there / max(len(mine), 1), 4),
            "here": round(1 - there / max(len(mine), 1), 4),
            "wrong": sum(wanted.get(key) != each[:2] for key, each in mine.items()) + len(wanted.keys() - mine.keys()),
        }


def headline(found: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Sums over all states."""
    names = ("frames", "analysed", "without_result", "results_twice", "looks", "wrong")
    return {name: sum(int(row[name]) for row in found) for name in names}


def draw(found: Sequence[harness.Row], figure: Any) -> None:
    """Who has looked, by state; what went wrong is written beside."""
    axes, places = figure.subplots(), range(len(found))
    there, here = ([float(row[name]) for row in found] for name in ("there", "here"))
    axes.barh(places, there, color="tab:gray", label="looks at the backend")
    axes.barh(places, here, left=there, color="tab:blue", label="looks in this process")
    names = [
        f"{row['backend']}: {row['analysed']} of {row['frames']} frames,\n"
        f"{row['results_twice']} twice, {row['wrong']} of {row['looks']} names wrong"
        for row in found
    ]
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("share of the looks")
    axes.legend(fontsize=8, loc="lower right")


def _query(frames: int, models: Sequence[str], backends: Mapping[str, Any]) -> str:
    query: dict[str, Any] = {
        "version": 1,
        "name": "outages",
        "slo_ms": 60_000,
        "streams": [{"id": "street", "uri": STREET.format(FPS, frames / FPS)}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {
                "name": "type",
                "task": "recognise",
                "input": "detect",
                "model": list(models),
                "answer": "look",
                "specialize": False,
                "caches": False,
            },
        ],
        **({"backends": backends} if backends else {}),
    }
    return yaml.safe_dump(query)


class _Served:
    """The backend at one address, whichever process that is."""

    def __init__(self, running: ExitStack, folder: Path) -> None:
        self._running, self._folder, self._others = running, folder, folder / "others"
        relatives(self._others, [MODEL], of=MODEL)
        self.process, self.address = self._started("127.0.0.1:0")

    def kill(self) -> None:
        self.process.kill()

    def start(self, *options: object) -> None:
        self.process, _ = self._started(self.address, *options)

    def stop(self) -> None:
        self.process.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.process.send_signal(signal.SIGCONT)

    def become_another(self) -> None:
        self.process.terminate()
        self.start("--models", self._others)

    def become_itself(self) -> None:
        self.process.terminate()
        self.start()

    def _started(self, listen: str, *options: object) -> tuple[Sluice, str]:
        found = self._running.enter_context(
            backend_process(self._folder / "backend", "--load", MODEL, *options, listen=listen)
        )
        return found.command, found.grpc


def _alone(folder: Path, frames: int) -> Sequence[Mapping[str, Any]]:
    with _run(folder, _query(frames, [MODEL], {})) as run:
        return _ended(run, folder)


def _broken(folder: Path, frames: int) -> tuple[Sequence[Mapping[str, Any]], Sequence[int]]:
    """The results, and how many there were at each event."""
    home, marks = folder / "broken", list[int]()
    with ExitStack() as running:
        served = _Served(running, folder)
        gpu = {"gpu": {"url": f"grpc://{served.address}", "timeout_ms": 5000}}
        run = running.enter_context(_run(home, _query(frames, [f"{MODEL} on gpu", MODEL], gpu)))
        steps = (served.kill, served.start, served.stop, served.go_on, served.become_another, served.become_itself)
        for number, step in enumerate(steps, start=1):
            least = number * frames / len(EVENTS)
            until(lambda: _count(home) >= least, EVENTS[number], run, timeout_s=LONGEST_S)  # noqa: B023
            marks.append(_count(home))
            step()
        return _ended(run, home), marks


def _run(home: Path, query: str) -> Sluice:
    home.mkdir(parents=True)
    (home / "query.yaml").write_text(query, encoding="utf-8")
    return Sluice(home, "run", "query.yaml", "--out", OUT, SLUICE_CACHE=home / "cache")


def _ended(run: Sluice, home: Path) -> Sequence[Mapping[str, Any]]:
    if run.wait(LONGEST_S):
        raise RuntimeError(run.errors)
    return [json.loads(line) for line in (home / OUT).read_text(encoding="utf-8").splitlines()]


def _count(home: Path) -> int:
    """Results so far."""
    return (home / OUT).read_bytes().count(b"\n") if (home / OUT).exists() else 0


def _said(lines: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], Answer]:
    """By frame and object."""
    return {
        (int(line["seq"]), int(one["id"])): _answer(one["attributes"][0])
        for line in lines
        for one in line["objects"]
        if one["attributes"]
    }


def _answer(said: Mapping[str, Any]) -> Answer:
    return said["label"], said["confidence"], said["model"].get("backend", "")


if __name__ == "__main__":
    harness.run("outages", measure, __doc__ or "")
