"""The simulation of the audit's cost."""

from __future__ import annotations

from benchmarks.audit import _live, _row
from cache_adapt.audit.state import Rule


def test_every_answer_is_accounted_for() -> None:
    good, bad = (_live(Rule(0.97), disagree, 3000, seed=0) for disagree in (0.0, 1.0))
    assert (good["off"], good["wrong"], good["oracle"]) == (None, 0, good["audits"])
    assert bad["trusted"] is None
    assert 3000 - bad["wrong"] == bad["oracle"] - bad["audits"]  # whatever the shortcut did not say, the oracle did


def test_rows_average_over_runs() -> None:
    row = _row(0.25, 0.0, runs=3, answers=1500)
    assert (row["runs_trusted"], row["runs_switched_off"], row["answers_until_off"]) == (3, 0, "")
    assert row["agreement_served"] == 1.0
    assert 0.1 < row["oracle_share"] < 0.2
