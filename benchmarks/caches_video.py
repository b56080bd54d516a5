"""What learned caches bring on real video, beside specialised heads and answers per track.

``sluice run`` analyses each clip as ``weg_video`` does (motion, tracks, ``vehicle-type``), in a process of its own:

``oracle``               the network answers every look at an object, and each look is an answer
``specialised``          the node says ``specialize: true``
``cached``               it says ``caches: true``
``both``                 it says both
``oracle, per track``    the network answers every look, and the looks at an object are pooled: ``answer: track``
``both, per track``      it says all three, so a known answer is reused between the looks

The clips are the four of Intel and the street at eye level. A clip is shown again and again for ten minutes, as a
camera that sees the same for hours, and five of its frames a second are analysed. Motion finds the objects, because the
cost of a detector is not measured here. All ways of a clip take turns, once each.

``cpu_s`` is the processor time of the whole process, with training, proofs and audits in the background. Each clip is
also analysed without the recognise node; ``node_cpu_s`` is what a run takes beyond that. ``node_s`` is the time that
frames spent in the node, which also grows when other processes keep the machine busy. Speed-ups are against ``oracle``;
the headline has those of ``both, per track`` against ``oracle, per track`` too. ``looks`` are objects at which somebody
looked, and ``oracle_runs`` those at which the network looked, audits in the background left out. The shares say who
answered: a track where nobody looked, else whoever looked. ``agreement`` is counted on every object of every frame,
with the oracle that answers in the same manner; ``cached_phase`` is the phase that the caches' audit ended in.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.caches_video_parts.plot import draw
from benchmarks.run_parts.sluice_run import Run, sluice_run
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS, Case
from benchmarks.tracks_video_parts.looped import looped
from benchmarks.tracks_video_parts.scores import Answer, agreement, answers
from benchmarks.weg_video import NODE, query

LOOK, TRACK = "oracle", "oracle, per track"
"""The oracle alone, by how it answers."""
ALL = "both, per track"
WAYS: Mapping[str, Mapping[str, Any]] = {
    LOOK: {"answer": "look"},
    "specialised": {"answer": "look", "specialize": True},
    "cached": {"answer": "look", "caches": True},
    "both": {"answer": "look", "specialize": True, "caches": True},
    TRACK: {"answer": "track"},
    ALL: {"answer": "track", "specialize": True, "caches": True},
}
"""What is added to the node that recognises."""
WITHOUT = "without the node"
WHO = ("oracle", "specialised", "cached", "track")
"""Provenances of answers."""
LONG_S, FPS = 600.0, 5.0
QUICK_FRAMES = 30


def measure(quick: bool) -> harness.Outcome:
    """All clips in all ways by turns; ``quick``: the beginning of a clip."""
    with tempfile.TemporaryDirectory(prefix="sluice-caches-") as scratch:
        folder = Path(scratch)
        rows = [row for case in _cases(folder, quick) for row in _rows(case, folder)]
    return harness.Outcome(rows, headline(rows), partial(draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Speed-ups and agreement by way and clip, and how ``both, per track`` compares with ``oracle, per track``.

    ``process_mean``: over all clips, with an interval, since single runs differ by what else the machine does.
    """
    keys = {"node": "node_speedup", "process": "cpu_speedup", "agreement": "agreement"}
    ways = {
        way: {name: {row["clip"]: row[key] for row in rows if row["way"] == way} for name, key in keys.items()}
        for way in WAYS
        if way != LOOK
    }
    over_track = {name: _over_track(rows, keys[name]) for name in ("node", "process")}
    means = {way: harness.mean_ratio(list(each["process"].values())) for way, each in ways.items()}
    means["over_track"] = harness.mean_ratio(list(over_track["process"].values()))
    return ways | {"over_track": over_track, "process_mean": means}


def shares(told: Mapping[str, Any]) -> Mapping[str, float]:
    """Who gave which share of the answers, by the report's entry on them; what nobody looked at is the track's."""
    looks = told["looks"]
    given = {who: looks.get(who, 0) for who in WHO} | {"track": told["answers"] - sum(looks.values())}
    return {who: round(count / told["answers"], 4) for who, count in given.items()}


def _over_track(rows: Sequence[harness.Row], key: str) -> Mapping[str, float]:
    found = {way: {row["clip"]: row[key] for row in rows if row["way"] == way} for way in (TRACK, ALL)}
    return {clip: round(speedup / found[TRACK][clip], 3) for clip, speedup in found[ALL].items()}


def _cases(folder: Path, quick: bool) -> Iterable[Case]:
    if quick:
        name = "persons, bicycles, cars"
        return [Case(name, "motion", VIDEOS / CLIPS[name], limit=QUICK_FRAMES, fps=FPS)]
    limit = round(LONG_S * FPS)
    shown = {name: VIDEOS / file for name, file in CLIPS.items()}
    return [Case(name, "motion", looped(folder, clip, LONG_S), limit=limit, fps=FPS) for name, clip in shown.items()]


def _rows(case: Case, folder: Path) -> Iterable[harness.Row]:
    found = {way: runs[0] for way, runs in harness.interleaved(_variants(case, folder), 1).items()}
    given = {way: answers(found[way].lines) for way in WAYS}
    for way, added in WAYS.items():
        reference = TRACK if added["answer"] == "track" else LOOK
        row = {"clip": case.name, "way": way, **_costs(way, found), **_who(found[way], given[way])}
        row["agreement"] = round(agreement(given[way], given[reference]), 4)
        print(row, file=sys.stderr, flush=True)
        yield row


def _variants(case: Case, folder: Path) -> Mapping[str, Callable[[], Run]]:
    return {way: partial(_run, case, way, folder) for way in (*WAYS, WITHOUT)}


def _run(case: Case, way: str, folder: Path) -> Run:
    asked = query(WAYS.get(way, {}))
    stream = {"id": "camera", "uri": str(case.video.resolve()), "sample": {"fps": case.fps}}
    nodes = [node for node in asked["nodes"] if way != WITHOUT or node["name"] != NODE]
    asked = {**asked, "name": "caches-video", "streams": [stream], "nodes": nodes}
    return sluice_run(folder, asked, "--limit", str(case.limit))


def _costs(way: str, found: Mapping[str, Run]) -> Mapping[str, Any]:
    run, oracle, without = found[way], found[LOOK], found[WITHOUT]
    return {
        "frames": len(run.lines),
        "node_s": round(run.node_s(NODE), 2),
        "node_cpu_s": round(_beyond(run, without), 2),
        "node_speedup": round(_beyond(oracle, without) / _beyond(run, without), 3),
        "cpu_s": round(run.cpu_s, 2),
        "cpu_speedup": round(oracle.cpu_s / run.cpu_s, 3),
    }


def _beyond(run: Run, without: Run) -> float:
    """Processor seconds for the node; noise in a short run does not make them less than nothing."""
    return max(0.01, run.cpu_s - without.cpu_s)


def _who(run: Run, given: Sequence[Answer]) -> Mapping[str, Any]:
    (told,) = run.report["answers"]
    phases = [audit["phase"] for audit in run.report["audits"] if audit["kind"] == "cached"]
    return {
        "objects": len(given),
        "looks": sum(told["looks"].values()),
        "oracle_runs": told["looks"].get("oracle", 0),
        **shares(told),
        "audits": sum(audit["audits"] for audit in run.report["audits"]),
        "switched_off": sum(audit["switched_off"] for audit in run.report["audits"]),
        "cached_phase": next(iter(phases), ""),
    }


if __name__ == "__main__":
    harness.run("caches_video", measure, __doc__ or "")
