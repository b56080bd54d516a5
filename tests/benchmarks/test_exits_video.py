"""The benchmark of exits on video tells of each half of a run, and of the second in the headline."""

from __future__ import annotations

import json
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.exits_video import headline
from benchmarks.exits_video_parts.cases import FPS, NODE
from benchmarks.exits_video_parts.plot import draw
from benchmarks.exits_video_parts.rows import FIRST, HALVED_S, SECOND, WHOLE, rows
from benchmarks.exits_video_parts.settings import settings
from benchmarks.run_parts.watched import Watched

FRAMES = round(HALVED_S * FPS)
TOLD = {"case": "street", "recogniser": "r", "answer": "track", "accuracy": 0.9, "begins_with": "nothing"}
AUDIT = {
    "kind": "specialised",
    "phase": "trusted",
    "audits": 60,
    "agreement": {"sequential": {"low": 0.91, "high": 1.0}},
    "names_lost": {"found": 0.05},
    "switched_off": 0,
}


def run(frames: int, exits_from: int, node_ms: float, cpu_s: float) -> Watched:
    """One object, looked at in every frame; by exits from some frame on, which call it ``unknown``."""

    def line(seq: int) -> dict[str, Any]:
        by_exit = seq >= exits_from
        said = {"label": "unknown" if by_exit else "car", "provenance": "specialised" if by_exit else "oracle"}
        found = {"id": 0, "track_id": None, "attributes": [said]}
        return {"seq": seq, "plan": {"stages_ms": {NODE: node_ms}}, "objects": [found]}

    audits = [AUDIT] if exits_from < frames else []
    return Watched(cpu_s, [line(seq) for seq in range(frames)], {"audits": audits}, [(frames // 2, cpu_s * 0.6)])


def test_each_half_is_compared():
    whole, first, second = rows(TOLD, run(FRAMES, 2000, 1.0, 80.0), run(FRAMES, FRAMES, 2.0, 100.0), 0.0)
    assert [row["part"] for row in (whole, first, second)] == [WHOLE, FIRST, SECOND]
    assert (first["frames"], second["frames"]) == (FRAMES // 2, FRAMES // 2)
    assert (first["answered"], second["answered"]) == (0.0, round(1000 / 1500, 4))
    assert (second["agreement"], second["names_lost"]) == (round(1 / 3, 4), round(2 / 3, 4))
    assert (second["node_ratio"], second["cpu_ratio"], whole["cpu_ratio"]) == (0.5, 0.8, 0.8)
    assert (first["cpu_s"], second["cpu_s"]) == (48.0, 32.0)
    assert {row["first_service_looks"] for row in (whole, first, second)} == {2000}
    assert (second["phase"], second["audit_low"], second["audit_lost"]) == ("trusted", 0.91, 0.05)


def test_short_runs_are_told_as_a_whole_and_the_headline_takes_second_halves():
    (short,) = rows({**TOLD, "case": "clip"}, run(10, 10, 1.0, 8.0), run(10, 10, 1.0, 8.0), 0.0)
    assert (short["part"], short["answered"], short["phase"], short["of_exits"]) == (WHOLE, 0.0, "", "")
    long = list(rows(TOLD, run(FRAMES, 2000, 1.0, 80.0), run(FRAMES, FRAMES, 2.0, 100.0), 0.0))
    found = headline([short, *long])
    assert found["clip, r, track, 0.9, nothing"] == [0.0, 1.0, 1.0, 1.0, 0.0, ""]
    assert found["street, r, track, 0.9, nothing"][0] == pytest.approx(2 / 3, abs=1e-4)
    assert json.dumps(found)
    draw([short, *long], Figure())


def test_settings_are_all_different():
    told = [tuple(each.told.values()) for each in settings(quick=False)]
    assert len(told) == len(set(told)) == 20
