from __future__ import annotations

import numpy as np
import pytest

from benchmarks.weg_parts.compact import CLARITY_SPREAD, Compact, clarity_spread
from benchmarks.weg_parts.paper import OBJECT, ROWS
from benchmarks.weg_parts.settings import Setting, settings
from benchmarks.weg_parts.simulate import World
from benchmarks.weg_synthetic import all_knowing
from datasets.streams import Phase
from specialization.rates import Rates


def test_the_spread_of_clarity_follows_from_the_one_figure_the_text_states() -> None:
    assert clarity_spread() == pytest.approx(CLARITY_SPREAD, abs=2e-3)


def test_a_head_for_all_classes_is_the_compact_network() -> None:
    rates = Compact(50, 0.6).rates(50, training_skew=1.0)
    assert rates.a_in == pytest.approx(0.6, abs=1e-3)


def test_more_classes_are_harder() -> None:
    few, many = (Compact(1000, 0.47).rates(n, 0.6) for n in (2, 15))
    assert few.a_in > many.a_in
    assert few.e_in_out < many.e_in_out


def test_the_world_has_the_rates_it_is_given() -> None:
    world, rates, head = World(np.random.default_rng(0), 100, 0.7), Rates(0.75, 0.15, 0.9), (3, 5, 9)
    inside = [world.head(5, head, rates) for _ in range(20_000)]
    outside = [world.head(7, head, rates) for _ in range(20_000)]
    oracle = [world.oracle(7) for _ in range(20_000)]
    assert inside.count(5) / 20_000 == pytest.approx(0.75, abs=0.01)
    assert inside.count(None) / 20_000 == pytest.approx(0.15, abs=0.01)
    assert inside.count(3) == pytest.approx(inside.count(9), rel=0.15)
    assert outside.count(None) / 20_000 == pytest.approx(0.9, abs=0.01)
    assert oracle.count(7) / 20_000 == pytest.approx(0.7, abs=0.01)
    assert set(oracle) == set(range(100))


def test_all_twenty_rows_and_the_three_changes_are_run() -> None:
    groups = [setting.group for setting in settings()]
    assert (len(ROWS), groups.count("table 5.2"), groups.count("changes")) == (20, 20, 3)


def test_who_knows_all_uses_the_oracle_where_there_is_no_skew() -> None:
    template = OBJECT.template()
    random, skewed = Phase(600), Phase(600, 5, 0.9)
    alone, _ = all_knowing(Setting("", "", OBJECT, (random,)), template)
    both, accuracy = all_knowing(Setting("", "", OBJECT, (random, skewed)), template)
    rates = template.rates(5)
    assert rates
    assert alone == 1.0
    assert both == pytest.approx((1 + template.cascade_cost(rates, 0.9)) / 2)
    assert accuracy == pytest.approx((0.689 + rates.accuracy(0.9, 0.689)) / 2)
