"""The simulation of the audit's cost."""

from __future__ import annotations

from benchmarks.audit import _live, _row
from cache_adapt.audit.state import Rule


def test_a_good_shortcut_answers_once_it_is_proven_and_a_bad_one_never() -> None:
    good, bad = (_live(Rule(0.95), disagree, 3000, seed=0) for disagree in (0.0, 1.0))
    assert (good["trusted"], good["off"], good["wrong"]) == (95, None, 0)
    assert 95 + 15 < good["oracle"] < 95 + 50  # one in a hundred afterwards
    assert (bad["trusted"], bad["oracle"], bad["wrong"]) == (None, 3000, 0)


def test_rows_average_over_runs() -> None:
    row = _row(0.9, 0.0, runs=3, objects=1500)
    assert (row["runs_trusted"], row["objects_until_trusted_p50"], row["objects_until_off_p50"]) == (3, 48, "")
    assert row["agreement_served"] == 1.0
    assert 0.03 < row["oracle_share"] < 0.06
    assert _row(0.9, 0.5, runs=2, objects=300)["runs_off_before_trusted"] == 2
