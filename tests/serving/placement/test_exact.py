"""Algorithm 3.1 beside the exact programme. The paper proves no bound; this one is measured."""

from __future__ import annotations

import numpy as np

from benchmarks.placement_parts.exact import fewest_backends, more_than_exact
from serving.placement.demands import Demand
from tests.serving.placement.made import TABLE_3_2

INSTANCES = 120


def test_table_3_2_needs_two_backends() -> None:
    asked = [Demand("A", 0.2, 64), Demand("B", 0.25, 32), Demand("C", 0.25, 32)]
    assert fewest_backends(asked, list(TABLE_3_2.values()), 1000) == 2


def test_hardly_ever_more_than_the_exact_programme_and_never_by_two() -> None:
    more = [*more_than_exact(INSTANCES, np.random.default_rng(4))]
    assert set(more) <= {0, 1}
    assert more.count(1) <= 0.03 * INSTANCES
