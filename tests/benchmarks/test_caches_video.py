"""The account of caches on video: who answered, what is compared with what, and the plot."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.caches_video import ALL, LOOK, TRACK, WAYS, WHO, headline, shares
from benchmarks.caches_video_parts import plot


def row(way: str, node: float, process: float, agreement: float = 1.0, **who: float) -> dict[str, Any]:
    speedups = {"node_speedup": node, "cpu_speedup": process}
    return {"clip": "street", "way": way, **speedups, "agreement": agreement, **dict.fromkeys(WHO, 0.0), **who}


ROWS = [
    row(LOOK, 1.0, 1.0, oracle=1.0),
    row("specialised", 2.0, 1.5, 0.97, specialised=0.75, oracle=0.25),
    row("cached", 1.5, 1.2, 0.99, cached=1.0),
    row("both", 3.0, 1.8, 0.96, specialised=0.5, cached=0.5),
    row(TRACK, 4.0, 2.0, oracle=0.2, track=0.8),
    row(ALL, 6.0, 2.2, 0.98, cached=0.2, track=0.8),
]


def test_whoever_looked_has_answered_and_else_the_track_has() -> None:
    looked = shares({"answers": 8, "looks": {"oracle": 4, "cached": 1}})
    assert looked == {"oracle": 0.5, "specialised": 0.0, "cached": 0.125, "track": 0.375}
    assert shares({"answers": 2, "looks": {"specialised": 2}})["track"] == 0.0


def test_the_headline_is_against_the_oracle_and_that_of_tracks_against_tracks_too() -> None:
    found = headline(ROWS)
    assert set(found) == {*WAYS, "over_track", "process_mean"} - {LOOK}
    assert found["process_mean"]["cached"] == {"mean": 1.2, "low": None, "high": None}  # one clip says nothing more
    assert found["cached"] == {"node": {"street": 1.5}, "process": {"street": 1.2}, "agreement": {"street": 0.99}}
    assert found["over_track"] == {"node": {"street": 1.5}, "process": {"street": 1.1}}


def test_every_way_has_a_bar_and_who_answered_adds_up() -> None:
    figure = Figure()
    plot.draw(ROWS, figure)
    *bars, who = figure.axes
    assert [len(ax.patches) for ax in bars] == [len(ROWS)] * 3
    assert sum(patch.get_width() for patch in who.patches) == pytest.approx(len(ROWS))
    assert set(plot.WHO) == set(WHO)
