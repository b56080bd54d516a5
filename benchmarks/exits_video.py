"""What exits spare on video, everything at its default, and what they cost where they cannot pay.

Four generated streets of twenty minutes and the real clips, each shown once, at five frames a second; a detector, a
tracker and a recogniser of 7 ms a look, on one of the streets one of 21 ms too. Each is shown to two processes at once,
as ``sluice run`` analyses it: the oracle alone (``specialize: false``, ``caches: false``), and with nothing said of
either; no variant stands in for the network. ``recording``: exits were learnt from the first five minutes of a street
by ``sluice learn``, and both runs see the rest.

``cpu_s`` is processor time of a whole process, its start and its children included; of a half of a run it is known by
how far the results had come. ``node_s`` is the time that frames spent in the node, and ``recognition_share`` what part
that was of the oracle's run. Words are compared for every object of every frame; ``other`` names nothing, so it counts
as ``unknown``. The intervals hold each share with 95 % (Clopper and Pearson, 1934), with tracks as trials. ``answered``
is the share of the looks that exits answered, ``of_exits`` the agreement for objects at which an exit has looked, and
``names_lost`` the share of what the oracle names that is called otherwise. ``audit_low`` and ``audit_high`` are what
the run itself has published of its exits.

Settings that were measured at the same commit are not measured again: they are kept under ``.cache``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.exits_video_parts.cases import CACHE
from benchmarks.exits_video_parts.plot import draw, told_by
from benchmarks.exits_video_parts.rows import rows
from benchmarks.exits_video_parts.settings import LEARNT, LEARNT_S, ORACLE, Setting, settings
from benchmarks.run_parts.watched import learn, together

HEADLINE = ("answered", "node_ratio", "cpu_ratio", "agreement", "names_lost")


def measure(quick: bool) -> harness.Outcome:
    """All settings, one after the other; ``quick``: the beginning of a street."""
    found = [row for setting in settings(quick) for row in (_rows(setting) if quick else _known(setting))]
    return harness.Outcome(found, headline(found), partial(draw, found))


def headline(found: Sequence[harness.Row]) -> Mapping[str, Any]:
    """By setting, of the second half where there is one; and looks before the first service."""
    told: dict[str, Any] = {}
    for row in told_by(found):
        name = f"{row['case']}, {row['recogniser']}, {row['answer']}, {row['accuracy']:g}, {row['begins_with']}"
        told[name] = [row[key] for key in HEADLINE] + [row["first_service_looks"]]
    return {"of": [*HEADLINE, "first_service_looks"], **told}


def _rows(setting: Setting) -> list[harness.Row]:
    with tempfile.TemporaryDirectory(prefix="sluice-exits-") as scratch:
        folder, learnt_s, shown = Path(scratch), 0.0, setting.shown
        mine = setting.asked(shown, folder / "exits")
        if setting.begins_with == LEARNT:
            learnt_s = round(learn(setting.asked(setting.case.part(0, LEARNT_S), folder / "exits")), 2)
        runs = together({"exits": mine, "oracle": setting.asked(shown, folder / "oracle", **ORACLE)})
        found = list(rows(setting.told, runs["exits"], runs["oracle"], learnt_s))
    for row in found:
        print(row, file=sys.stderr, flush=True)
    return found


def _known(setting: Setting) -> list[harness.Row]:
    """Those that were measured at this commit, else measured now."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    file = CACHE / "found" / f"{commit.stdout.strip()} {' '.join(map(str, setting.told.values()))}.json"
    if not file.exists():
        found = _rows(setting)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
    known: list[harness.Row] = json.loads(file.read_text())
    return known


if __name__ == "__main__":
    harness.run("exits_video", measure, __doc__ or "")
