"""The benchmark of tuning: its grid is one, and its figures are of the rows."""

from __future__ import annotations

import numpy as np

from benchmarks.caches_parts.certified import effect, rows
from benchmarks.tuning import AGREEMENT, WINDOW, Trigger, grid, headline, simulated
from cache_adapt.exits.thresholds import tuned


def test_the_grid_keeps_the_agreement_and_finds_no_less_than_a_coarser_one():
    record = simulated(0, 2, 128)
    fine, coarse = (effect(record, grid(record, AGREEMENT, step)) for step in (0.1, 0.5))
    assert min(fine.agreement, coarse.agreement) >= AGREEMENT
    assert fine.saved >= coarse.saved


def test_thresholds_of_the_beginning_do_not_hold_at_the_end():
    stream = simulated(1, 4, 4000, harder=8)
    thresholds = tuned(rows(stream, np.arange(512)), AGREEMENT)
    assert effect(rows(stream, np.arange(3000, 4000)), thresholds).agreement < AGREEMENT


def test_the_headline_has_the_largest_gap_of_single_windows():
    def row(exits, way, gap=None, ms=1.0, agreement=0.99):
        return {"exits": exits, "way": way, "gap": gap, "processor_ms": ms, "agreement": agreement}

    shown = [
        row(8, "climb", None, 0.7),
        *(row(2, "climb", gap) for gap in (0.1, -0.1, 0.02)),
        row(3, "climb", 0.0),
    ]
    shown += [row(4, "once", None, None, 0.9), row(4, "continually", None, None, 0.98)]
    found = headline(shown)
    assert found["gaps"][2] == {"largest": 0.1, "mean_missed": 0.04, "share_beyond_the_papers": 0.333}
    assert (found["climb_ms"], found["once"], found["continually"]) == (0.7, 0.9, 0.98)


def test_tuning_is_due_when_the_newest_sixteen_agree_too_seldom():
    trigger = Trigger(0.9)
    assert WINDOW == 16
    assert not any(trigger.saw(False) for _ in range(15))
    assert trigger.saw(True)
    assert not [trigger.saw(True) for _ in range(15)][-1]
