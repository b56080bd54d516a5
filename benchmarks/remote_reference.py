"""How often a reference that is 300 ms away is asked, where exits in a small network here stand in front of it.

A busy generated street at dusk and a quiet one by day, twenty minutes each, once; ``vehicle-type`` is the reference,
which a ``sluice backend`` runs behind a wire that takes 150 ms each way, and ``vehicle-type-compact`` lends its cuts.
Beside each runs the reference alone, on the same frames. Shares are of looks; ``crossed`` is the share of all looks
that the backend has answered, ``beside`` the part of it that no frame waits for: audits, and what the planner measures
of its time, which it does not of a reference alone. ``agreement`` compares the words published of every object in every
frame, with tracks as trials; ``of_exits`` those of objects at which an exit has looked; ``run_spared_s`` is the time of
looks there that exits have spared, ``run_here_s`` what they took here. All runs go on side by side, each with a backend
of its own: nothing here is measured in time.
"""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from benchmarks import harness
from benchmarks.exits_video_parts.cases import FPS, MOTION, Case
from benchmarks.exits_video_parts.scores import EXITS, Published, Share, compared, published
from tests.integration.backend_process import backend_process
from tests.real.process import Sluice
from tests.real.wire import wire_beside

CACHE = Path(__file__).parents[1] / ".cache" / "remote-reference"
STREET_S, QUICK_S, LONGEST_S = 1200.0, 60.0, 5400.0
WAY_S = 0.15
SERVED, LENDER = "vehicle-type", "vehicle-type-compact"
REFERENCE = f"{SERVED} on gpu"
ALONE: Mapping[str, Any] = {"specialize": False, "caches": False}
BUSY, QUIET = "busy", "quiet"
STREETS: Mapping[str, Mapping[str, str]] = {
    BUSY: {"seed": "42", "density": "3", "light": "dusk"},
    QUIET: {"seed": "43", "density": "0.1"},
}
WANTED = ((BUSY, 0.9), (BUSY, 0.85), (BUSY, 0.8), (QUIET, 0.9))


@dataclass(frozen=True)
class Ran:
    """A run that has ended."""

    said: Published
    there: int
    """Looks that the backend has answered, but for the first, by which its network is measured."""
    report: Mapping[str, Any]


def measure(quick: bool) -> harness.Outcome:
    """``quick``: a minute of the quiet street."""
    wanted = [(QUIET, 0.9)] if quick else WANTED
    cases = {name: _case(name, quick) for name in dict(wanted)}
    for case in cases.values():
        case.source()
    with tempfile.TemporaryDirectory(prefix="sluice-far-") as scratch, ThreadPoolExecutor(8) as pool:
        run = partial(_run, Path(scratch))
        alone = {name: pool.submit(run, case, 0.9, False) for name, case in cases.items()}
        exits = [pool.submit(run, cases[name], accuracy, True) for name, accuracy in wanted]
        found = [
            row
            for (name, accuracy), mine in zip(wanted, exits, strict=True)
            for row in _rows({"street": name, "accuracy": accuracy}, mine.result(), alone[name].result(), cases[name])
        ]
    return harness.Outcome(found, headline(found), partial(draw, found))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """What crosses in the second half of each setting, and how many of the words agree."""
    return {
        f"{row['street']}, {row['accuracy']:g}": [row["crossed"], row["agreement"]]
        for row in rows
        if row["part"] == "second half"
    }


def draw(rows: Sequence[harness.Row], figure: Any) -> None:
    """Shares of the looks by who answers, each half of each setting."""
    axes, places = figure.subplots(), range(len(rows))
    left = [0.0] * len(rows)
    for name, colour in (("answered", "tab:blue"), ("asked", "tab:gray")):
        widths = [float(row[name]) for row in rows]
        axes.barh(places, widths, left=left, color=colour, label=f"{name} {'here' if name == 'answered' else 'there'}")
        left = [one + other for one, other in zip(left, widths, strict=True)]
    beside = [float(row["beside"]) for row in rows]
    axes.barh(places, beside, color="tab:orange", height=0.3, label="asked beside: audits, measurements")
    names = [f"{row['street']}, {row['accuracy']:g}, {row['part']}: agreement {row['agreement']:.3f}" for row in rows]
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0.5, color="grey", linewidth=0.8)
    axes.set_xlabel("share of the looks")
    axes.legend(fontsize=8)


def _case(name: str, quick: bool) -> Case:
    seconds = QUICK_S if quick else STREET_S
    options = {**STREETS[name], "fps": f"{FPS:g}", "duration_s": f"{seconds:g}"}
    return Case(name, CACHE / f"{name}-{seconds:g}s.mp4", round(seconds * FPS), MOTION, options)


def _run(scratch: Path, case: Case, accuracy: float, with_exits: bool) -> Ran:
    folder = scratch / f"{case.name} {accuracy} {with_exits}"
    models, more = ([REFERENCE, LENDER], {}) if with_exits else ([REFERENCE], ALONE)
    with backend_process(folder / "backend", "--load", SERVED) as backend:
        before = _answered(backend.http)
        with wire_beside(backend.grpc, WAY_S) as far:
            query = {
                **case.query(REFERENCE, {**more, "model": models}, {"accuracy": accuracy}),
                "backends": {"gpu": {"url": f"grpc://{far}"}},
            }
            (folder / "query.yaml").write_text(yaml.safe_dump(query), encoding="utf-8")
            arguments = ("run", folder / "query.yaml", "--out", "results.jsonl", "--report", "report.json")
            with Sluice(folder / "run", *arguments, SLUICE_CACHE=folder / "cache") as run:
                if run.wait(LONGEST_S):
                    raise RuntimeError(run.errors)
        there = _answered(backend.http) - before
    (out, report) = (folder / "run" / name for name in ("results.jsonl", "report.json"))
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    lines.sort(key=lambda line: int(line["seq"]))
    return Ran(published(lines), there, json.loads(report.read_text()))


def _answered(address: str) -> int:
    with urllib.request.urlopen(f"http://{address}/v2/models/{SERVED}/stats", timeout=60) as reply:
        told = json.load(reply)
    return int(told["model_stats"][0]["inference_count"])


def _rows(told: harness.Row, run: Ran, alone: Ran, case: Case) -> Iterator[harness.Row]:
    half = case.frames // 2
    background = max(run.there - sum(each.looked == "oracle" for each in run.said.values()), 0)
    by_exits = sum(each.looked in EXITS for each in run.said.values())
    for part, begin, end in (("first half", 0, half), ("second half", half, case.frames)):
        found = compared(run.said, alone.said, lambda seq, begin=begin, end=end: begin <= seq < end)  # type: ignore[misc]
        looked = [each for (seq, _), each in run.said.items() if begin <= seq < end and each.looked]
        asked = sum(each.looked == "oracle" for each in looked)
        # Most are audits of looks that exits answered; how many of which half is not told apart.
        beside = background * (found.by_exits / by_exits if by_exits else 0.5)
        count = max(len(looked), 1)
        yield {
            **told,
            "part": part,
            "looks": len(looked),
            "looks_per_min": round(len(looked) / (half / FPS / 60), 1),
            "answered": round(found.by_exits / count, 4),
            "asked": round(asked / count, 4),
            "beside": round(beside / count, 4),
            "crossed": round((asked + beside) / count, 4),
            **_share("agreement", found.agreement),
            **_share("of_exits", found.of_exits),
            **_share("names_lost", found.names_lost),
            "run_there": run.there,
            "alone_there": alone.there,
            **_seconds(run.report),
        }


def _seconds(report: Mapping[str, Any]) -> Mapping[str, float]:
    """Time of looks there that exits have spared, and processor time that they took here."""
    found = [each["processor_s"] for each in report["specialization"]]
    spared, here = (round(sum(each[name] for each in found), 1) for name in ("avoided", "shortcuts"))
    return {"run_spared_s": spared, "run_here_s": here}


def _share(name: str, share: Share | None) -> Mapping[str, Any]:
    told = ("", "", "") if share is None else (share.found, share.low, share.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), told, strict=True))


if __name__ == "__main__":
    harness.run("remote_reference", measure, __doc__ or "")
