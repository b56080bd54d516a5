"""The benchmark of tuning: its grid is one, and its figures are of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tuning import AGREEMENT, grid, headline, simulated
from cache_adapt.exits.record import effect
from cache_adapt.exits.thresholds import tuned


def test_the_grid_keeps_the_agreement_and_finds_no_less_than_a_coarser_one():
    record = simulated(0, 2, 128)
    fine, coarse = (effect(record, grid(record, AGREEMENT, step)) for step in (0.1, 0.5))
    assert min(fine.agreement, coarse.agreement) >= AGREEMENT
    assert fine.saved >= coarse.saved


def test_thresholds_of_the_beginning_do_not_hold_at_the_end():
    stream = simulated(1, 4, 4000, harder=8)
    thresholds = tuned(stream.rows(np.arange(512)), AGREEMENT)
    assert effect(stream.rows(np.arange(3000, 4000)), thresholds).agreement < AGREEMENT


def test_the_headline_compares_the_same_windows():
    def row(exits, way, saved, ms=1.0, agreement=0.99):
        return {"exits": exits, "way": way, "saved": saved, "processor_ms": ms, "agreement": agreement}

    rows = [row(8, "climb", 0.4, 0.7), row(2, "climb", 0.45), row(2, "grid", 0.5)]
    rows += [row(4, "once", 0.5, None, 0.9), row(4, "continually", 0.4, None, 0.98)]
    assert headline(rows) == {"climb_ms": 0.7, "gap": pytest.approx(0.1), "once": 0.9, "continually": 0.98}
