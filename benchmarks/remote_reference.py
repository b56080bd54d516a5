"""How often a reference that takes 300 ms is asked, where exits in a small network here stand in front of it.

A busy generated street at dusk and a quiet one by day, twenty minutes each, once; ``vehicle-type`` is the reference,
which another machine runs, and ``vehicle-type-compact`` lends its cuts. Beside each runs the reference alone, on the
same frames. Shares are of looks; ``crossed`` is the share of all looks that goes to the other machine, ``for_audits``
the part of it that only audits ask for, in the background. ``agreement`` compares the words published of every object
in every frame, with tracks as trials; ``of_exits`` those of objects at which an exit has looked. The delay passes on a
clock that is put forward: nothing here is measured in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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

CACHE = Path(__file__).parents[1] / ".cache" / "remote-reference"
STREET_S, QUICK_S = 1200.0, 60.0
REFERENCE, LENDER = "vehicle-type on gpu", "vehicle-type-compact"
ALONE: Mapping[str, Any] = {"specialize": False, "caches": False}
BUSY, QUIET = "busy", "quiet"
STREETS: Mapping[str, Mapping[str, str]] = {
    BUSY: {"seed": "42", "density": "3", "light": "dusk"},
    QUIET: {"seed": "43", "density": "0.1"},
}


@dataclass(frozen=True)
class Ran:
    """A run that has ended."""

    said: Published
    looks: Mapping[str, int]
    """At the reference: those that frames waited for, and those in the background."""
    report: Mapping[str, Any]


def measure(quick: bool) -> harness.Outcome:
    """``quick``: a minute of the quiet street."""
    wanted = [(QUIET, 0.9)] if quick else [(BUSY, 0.9), (BUSY, 0.7), (BUSY, 0.6), (QUIET, 0.9)]
    cases = {name: _case(name, quick) for name in dict(wanted)}
    for case in cases.values():
        case.source()
    with tempfile.TemporaryDirectory(prefix="sluice-far-") as scratch, ThreadPoolExecutor(2) as pool:
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
    axes.barh(places, [float(row["for_audits"]) for row in rows], color="tab:orange", height=0.3, label="audited")
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
    folder.mkdir()
    models, more = ([REFERENCE, LENDER], {}) if with_exits else ([REFERENCE], ALONE)
    query = {
        **case.query(REFERENCE, {**more, "model": models}, {"accuracy": accuracy}),
        "backends": {"gpu": {"url": "grpc://127.0.0.1:1"}},
    }
    (folder / "query.yaml").write_text(yaml.safe_dump(query), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.remote_reference_parts.far_run", str(folder)]
    environment = {**os.environ, "SLUICE_CACHE": str(folder / "cache")}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if said.returncode:
        raise RuntimeError(said.stderr)
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    lines.sort(key=lambda line: int(line["seq"]))
    looks, report = (json.loads((folder / name).read_text()) for name in ("looks.json", "report.json"))
    return Ran(published(lines), looks, report)


def _rows(told: harness.Row, run: Ran, alone: Ran, case: Case) -> Iterator[harness.Row]:
    half = case.frames // 2
    background = run.looks["in the background"]
    by_exits = sum(each.looked in EXITS for each in run.said.values())
    for part, begin, end in (("first half", 0, half), ("second half", half, case.frames)):
        found = compared(run.said, alone.said, lambda seq, begin=begin, end=end: begin <= seq < end)  # type: ignore[misc]
        looked = [each for (seq, _), each in run.said.items() if begin <= seq < end and each.looked]
        asked = sum(each.looked == "oracle" for each in looked)
        # Audits are of looks that exits answered; how many of which half is not told apart.
        audits = background * found.by_exits / by_exits if by_exits else 0.0
        count = max(len(looked), 1)
        yield {
            **told,
            "part": part,
            "looks": len(looked),
            "looks_per_min": round(len(looked) / (half / FPS / 60), 1),
            "answered": round(found.by_exits / count, 4),
            "asked": round(asked / count, 4),
            "for_audits": round(audits / count, 4),
            "crossed": round((asked + audits) / count, 4),
            **_share("agreement", found.agreement),
            **_share("of_exits", found.of_exits),
            **_share("names_lost", found.names_lost),
            "run_frames_wait_for": run.looks["frames wait for"],
            "run_background": background,
            "alone_frames_wait_for": alone.looks["frames wait for"],
        }


def _share(name: str, share: Share | None) -> Mapping[str, Any]:
    told = ("", "", "") if share is None else (share.found, share.low, share.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), told, strict=True))


if __name__ == "__main__":
    harness.run("remote_reference", measure, __doc__ or "")
