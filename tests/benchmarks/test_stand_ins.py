"""The benchmark of stand-ins tells of runs beside that of the network alone, and of each half of long ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.exits_video_parts.cases import FPS
from benchmarks.exits_video_parts.rows import HALVED_S
from benchmarks.run_parts.watched import Watched
from benchmarks.stand_ins import ALONE, EVERYTHING, EXITS_ALONE, compared_rows, draw, headline, settings

FRAMES = round(HALVED_S * FPS)
TOLD = {"case": "street", "recogniser": "r", "answer": "track", "begins_with": "nothing"}


def run(frames: int, stands_in_from: int, cpu_s: float) -> Watched:
    """One object, looked at in every frame; by a stand-in from some frame on, which is wrong once."""

    def line(seq: int) -> dict[str, Any]:
        by = "variant" if seq >= stands_in_from else "oracle"
        said = {"label": "van" if seq == stands_in_from else "car", "provenance": by}
        return {"seq": seq, "objects": [{"id": 0, "track_id": None, "attributes": [said]}]}

    return Watched(cpu_s, [line(seq) for seq in range(frames)], {}, [(frames // 2, cpu_s * 0.6)])


def test_what_stood_in_is_counted_and_compared_in_each_half() -> None:
    alone = run(FRAMES, FRAMES, 100.0)
    rows = list(compared_rows({**TOLD, "mode": EVERYTHING}, run(FRAMES, FRAMES // 2, 80.0), alone))
    whole, first, second = rows
    assert [row["part"] for row in rows] == ["whole", "first half", "second half"]
    assert [row["cpu_ratio"] for row in rows] == [0.8, 0.8, 0.8]
    assert [row["answered"] for row in rows] == [0.5, 0.0, 1.0]
    assert (first["agreement"], first["names_lost"]) == (1.0, 0.0)
    assert second["names_lost"] == pytest.approx(2 / FRAMES, abs=1e-4)
    assert whole["frames"] == first["frames"] + second["frames"] == FRAMES


def test_the_headline_leaves_out_the_network_alone_and_short_runs_are_told_as_a_whole() -> None:
    alone = run(10, 10, 8.0)
    rows = [
        row for mode in (ALONE, EXITS_ALONE, EVERYTHING) for row in compared_rows({**TOLD, "mode": mode}, alone, alone)
    ]
    assert [row["part"] for row in rows] == ["whole"] * 3
    assert list(headline(rows)) == [f"street, r, track, nothing, {mode}" for mode in (EXITS_ALONE, EVERYTHING)]
    assert json.dumps(headline(rows))
    draw(rows, Figure())


def test_settings_are_all_different() -> None:
    told = [(each.case.name, each.recogniser, each.answer, each.begins_with) for each in settings(quick=False)]
    assert len(told) == len(set(told)) == 9
