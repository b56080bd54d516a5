"""Thresholds that follow: when they are tuned, to what, and which caches are not asked."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.caches.newest import KEPT
from cache_adapt.caches.retune import RetuneTrigger, retuned
from cache_adapt.caches.tune import SPARE, CachesHeard, Costs
from cache_adapt.exits.ramps import EVERY
from cache_adapt.exits.record import Record, effect
from cache_adapt.exits.thresholds import WINDOW
from tests.cache_adapt.caches.test_tune import COSTS, heard


def test_nothing_is_tuned_before_there_are_enough_inputs() -> None:
    due = RetuneTrigger(0.9)
    assert not any(due.saw([False]) for _ in range(KEPT - 1))
    assert due.saw([False])


def test_it_is_tuned_where_too_few_of_the_newest_are_right() -> None:
    due = RetuneTrigger(0.9)
    assert due.saw([True] * KEPT)
    assert not due.saw([True] * (WINDOW - 1) + [False]), "one wrong in sixteen is allowed"
    assert due.saw([False])
    assert not due.saw([False] * (WINDOW - 1)), "another window is waited for"
    assert due.saw([False])


def test_it_is_tuned_now_and_then_though_all_is_right() -> None:
    due = RetuneTrigger(0.9)
    due.saw([True] * KEPT)
    times = [count for count in range(1, 3 * EVERY + 1) if due.saw([True])]
    assert times == [EVERY, 2 * EVERY, 3 * EVERY]


def test_a_window_that_fell_within_a_batch_counts_though_the_next_looks_are_right() -> None:
    due = RetuneTrigger(0.9)
    due.saw([True] * KEPT)
    assert due.saw([False] * WINDOW + [True] * 3 * WINDOW)


def test_thresholds_keep_the_agreement_on_later_inputs_too() -> None:
    known, later = heard(4.0, 2.6, 1.8, count=512), heard(4.0, 2.6, 1.8, count=3000, seed=2)
    found = retuned(known, COSTS, 0.9)
    places = list(found.chosen)
    came = effect(
        Record.of(later.errors[places], later.right[places], COSTS.leaving(found.chosen)), np.array(found.thresholds)
    )
    assert came.answered.sum() > 500
    assert 1 - came.wrong / came.answered.sum() >= 0.9
    assert sum(found.hit_rates) == pytest.approx(came.answered.sum() / 3000, abs=0.1)


def test_where_inputs_get_harder_fewer_are_answered_and_more_again_where_they_are_easy() -> None:
    easy, hard = heard(2.6, 1.8, count=512), heard(9.0, 7.0, count=512)
    costs = Costs(COSTS.until[:2], COSTS.lookup[:2], COSTS.through, COSTS.whole)
    assert sum(retuned(hard, costs, 0.9).hit_rates) < sum(retuned(easy, costs, 0.9).hit_rates)


def test_a_cache_that_costs_more_latency_than_it_saves_is_not_asked() -> None:
    errors = np.tile(np.linspace(0, 1, 512, dtype=np.float32), (2, 1))
    right = np.stack([np.zeros(512, bool), np.ones(512, bool)])
    found = retuned(CachesHeard(errors, right), Costs((2.0, 6.0), (1.0, 0.1), 8.2, 8.0), 0.9)
    assert found.chosen == (1,)
    assert found.thresholds[0] > 0.99


def test_where_no_cache_is_ever_right_none_is_asked() -> None:
    errors = np.tile(np.linspace(0, 1, 512, dtype=np.float32), (2, 1))
    found = retuned(CachesHeard(errors, np.zeros((2, 512), bool)), Costs((2.0, 6.0), (0.1, 0.1), 8.2, 8.0), 0.9)
    assert (found.chosen, found.thresholds) == ((), ())


def test_less_is_answered_wrongly_than_is_allowed_by_a_margin() -> None:
    found = [retuned(heard(4.0, 2.6, 1.8, count=512, seed=seed), COSTS, 0.8) for seed in (1, 2, 3)]
    later, shares = heard(4.0, 2.6, 1.8, count=2000, seed=9), []
    for each in found:
        places = list(each.chosen)
        record = Record.of(later.errors[places], later.right[places], COSTS.leaving(each.chosen))
        came = effect(record, np.array(each.thresholds))
        shares.append(came.wrong / came.answered.sum())
    assert max(shares) < 0.2
    assert np.mean(shares) == pytest.approx(SPARE * 0.2, abs=0.05)
