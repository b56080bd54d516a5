"""The catalogues and the arithmetic of the selection benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.selection import BRUTE_FORCE, TABLE, VARIANTS, brute_force, catalogue, headline, requirements, row
from serving.selection import VariantTable, select


@pytest.mark.parametrize("case", ["active", "inactive", "none"])
def test_every_case_leads_to_its_outcome_by_both_ways(case: str) -> None:
    records = catalogue(case)
    assert len(records) == VARIANTS
    table, state = VariantTable(records), {each.id: each.state for each in records}
    outcomes = []
    for asked in requirements(np.random.default_rng(1)):
        choice = select(asked, table)
        assert choice.variant == brute_force(records, asked).id
        outcomes.append("none" if not choice.meets else state[choice.variant])
    assert outcomes.count(case) > 0.9 * len(outcomes)
    assert ("active" in state.values()) == (case == "active")


def test_rows_and_headline() -> None:
    found = {
        (case, way): [[factor * each for each in (1.0, 2.0, 3.0)]] * 2
        for case, factor in (("active", 1.0), ("none", 2.0))
        for way in (TABLE,)
    }
    found |= {(case, BRUTE_FORCE): [[20.0, 20.0, 20.0]] * 2 for case in ("active", "none")}
    rows = [row(case, way, found) for case, way in found]
    assert [each["speedup_over_brute_force"] for each in rows] == [10.0, 5.0, 1.0, 1.0]
    assert headline(rows) == {"select_us_p50": 4.0, "select_us_p99": 6.0, "speedup_over_brute_force": 5.0}
