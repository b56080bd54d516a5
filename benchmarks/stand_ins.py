"""What stand-ins spare on video, and what they cost where they cannot pay.

A generated street of twenty minutes and the real clips, each shown once, at five frames a second; a detector, a tracker
and a recogniser: the one that ships, and one of 7 ms a look. Each is shown to three processes at once, as ``sluice
run`` analyses it: the network alone (no exits, no stand-in), with exits alone (``variants: false``), and everything at
its default. ``recording``: the last two have learnt from the first five minutes before, by ``sluice learn``, which
compares variants too; the rest of the street is shown.

``cpu_s`` is processor time of a whole process, its start and its children included; of a half of a run it is known by
how far the results had come. ``learnt_s`` is what ``sluice learn`` took before, in addition. ``answered`` is the share
of the looks that a stand-in or exits made; words are compared with those of the network alone, as
``benchmarks/exits_video`` does.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.exits_video_parts.cases import FPS, NANO, STREET_S, Case, clips, streets
from benchmarks.exits_video_parts.rows import FIRST, HALVED_S, SECOND, WHOLE, share_columns
from benchmarks.exits_video_parts.scores import EXITS, compared, published
from benchmarks.exits_video_parts.settings import LEARNT, LEARNT_S, NOTHING
from benchmarks.recogniser_parts.dear import MIDDLE, ready
from benchmarks.run_parts.watched import Asked, Watched, learn, together
from benchmarks.tracking_parts.recordings import models

ALONE, EXITS_ALONE, EVERYTHING = "network alone", "exits", "everything"
MODES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    ALONE: ({"variants": False}, {"specialize": False, "caches": False}),
    EXITS_ALONE: ({"variants": False}, {}),
    EVERYTHING: ({}, {}),
}
"""Keys of the query, and of the node that recognises."""
SHIPPED, ACCURACY, QUICK_S = "vehicle-type", 0.9, 60.0
OTHERS = (*EXITS, "variant")
"""Provenances of looks that the network did not make."""


@dataclass(frozen=True)
class Setting:
    """What is shown, and what is asked of it."""

    case: Case
    recogniser: str
    answer: str
    begins_with: str = LEARNT


def settings(quick: bool) -> Iterator[Setting]:
    """``quick``: the beginning of a street."""
    if quick:
        yield Setting(streets()[0].part(0, QUICK_S), SHIPPED, "track", NOTHING)
        return
    street = streets()[0]
    yield Setting(street, MIDDLE.name, "track", NOTHING)
    for recogniser, answer in ((MIDDLE.name, "track"), (SHIPPED, "track"), (MIDDLE.name, "look")):
        yield Setting(street, recogniser, answer)
    for case in clips():
        yield Setting(case, MIDDLE.name, "track", NOTHING)


def measure(quick: bool) -> harness.Outcome:
    """All settings, one after the other."""
    found = [row for setting in settings(quick) for row in _rows(setting)]
    return harness.Outcome(found, headline(found), partial(draw, found))


def headline(found: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Processor time of whole runs over that of the network alone, agreement and names lost."""
    told = {}
    for row in found:
        if row["part"] == WHOLE and row["mode"] != ALONE:
            name = ", ".join(str(row[key]) for key in ("case", "recogniser", "answer", "begins_with", "mode"))
            told[name] = [row["cpu_ratio"], row["agreement"], row["names_lost"]]
    return told


def _rows(setting: Setting) -> Iterator[harness.Row]:
    with tempfile.TemporaryDirectory(prefix="sluice-stand-ins-") as scratch:
        directories = [ready(MIDDLE)]
        if setting.case.detector == NANO:
            models(NANO, Path(scratch) / "models")
            directories.append(Path(scratch) / "models")
        case, learns = setting.case, setting.begins_with == LEARNT
        shown = case.part(LEARNT_S, STREET_S) if learns else case
        asked = {mode: _asked(setting, shown, mode, Path(scratch) / mode, directories) for mode in MODES}
        learnt_s = dict.fromkeys(MODES, 0.0)
        for mode in (EXITS_ALONE, EVERYTHING) if learns else ():
            learnt_s[mode] = learn(_asked(setting, case.part(0, LEARNT_S), mode, asked[mode].folder, directories))
        runs = together(asked)
        for mode in MODES:
            told = {
                "case": case.name,
                "recogniser": setting.recogniser,
                "answer": setting.answer,
                "begins_with": setting.begins_with,
                "mode": mode,
                "learnt_s": round(learnt_s[mode], 2),
            }
            for row in compared_rows(told, runs[mode], runs[ALONE]):
                print(row, file=sys.stderr, flush=True)
                yield row


def _asked(setting: Setting, case: Case, mode: str, folder: Path, directories: Sequence[Path]) -> Asked:
    keys, node = MODES[mode]
    query = case.query(setting.recogniser, {"answer": setting.answer, **node}, {"accuracy": ACCURACY, **keys})
    return Asked(folder, query, directories)


def compared_rows(told: harness.Row, run: Watched, alone: Watched) -> Iterator[harness.Row]:
    """A run beside that of the network alone: the whole, and each half of a long one."""
    mine, others, frames = published(run.lines), published(alone.lines), len(run.lines)
    parts = {WHOLE: (0, frames)}
    if frames >= HALVED_S * FPS:
        parts |= {FIRST: (0, frames // 2), SECOND: (frames // 2, frames)}
    for name, (begin, end) in parts.items():
        found = compared(mine, others, lambda seq, begin=begin, end=end: begin <= seq < end, OTHERS)  # type: ignore[misc]
        cpu_s, alone_s = (each.cpu_until(end) - each.cpu_until(begin) for each in (run, alone))
        yield {
            **told,
            "part": name,
            "frames": end - begin,
            "cpu_s": round(cpu_s, 2),
            "cpu_ratio": round(cpu_s / alone_s, 3),
            "looks": found.looks,
            "answered": round(found.by_exits / max(found.looks, 1), 4),
            **share_columns("agreement", found.agreement),
            **share_columns("names_lost", found.names_lost),
        }


def draw(rows: Sequence[harness.Row], figure: Any) -> None:
    """Processor time of whole runs, over that of the network alone."""
    shown = [row for row in rows if row["part"] == WHOLE and row["mode"] != ALONE]
    keys = ("case", "recogniser", "answer", "begins_with")
    names = list(dict.fromkeys(", ".join(str(row[key]) for key in keys) for row in shown))
    figure.set_size_inches(9, 1.5 + 0.35 * len(names))
    ax = figure.subplots()
    for mode, colour in ((EXITS_ALONE, "tab:gray"), (EVERYTHING, "tab:blue")):
        mine = [row for row in shown if row["mode"] == mode]
        places = [names.index(", ".join(str(row[key]) for key in keys)) for row in mine]
        ax.plot([row["cpu_ratio"] for row in mine], places, "o", color=colour, label=mode)
    ax.axvline(1.0, color="grey", linewidth=0.8)
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.invert_yaxis()
    ax.set_xlabel("processor time of the process, over the network alone")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.2)
    ax.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    harness.run("stand_ins", measure, __doc__ or "")
