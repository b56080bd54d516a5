"""Certified thresholds: how often they hold on inputs that nobody tuned on."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.caches_parts.certified import Constraint, certified, effect, halves, rows
from benchmarks.tuning import simulated as record
from cache_adapt.exits.certify import DOUBT, is_tolerable, upper_bound
from cache_adapt.exits.record import Record
from cache_adapt.exits.thresholds import tuned


def test_thresholds_hold_on_further_inputs_as_often_as_promised():
    held = []
    for seed in range(60):
        known = record(seed, exits=3, inputs=4000)
        calibration, further = rows(known, np.arange(1000)), rows(known, np.arange(1000, 4000))
        held.append(effect(further, certified(calibration, Constraint(0.97)).thresholds).agreement >= 0.97)
    assert np.mean(held) >= 1 - DOUBT - 0.05


def test_what_may_be_wrong_is_used_up_but_for_the_bound():
    used = []
    for seed in range(10):
        known = record(seed, exits=3, inputs=4000)
        most = max(wrong for wrong in range(200) if is_tolerable(wrong, 2000, 0.01))
        used.append(certified(known, Constraint(0.99)).effect.wrong / most)
    assert max(used) <= 1
    assert np.mean(used) > 0.93


def test_thresholds_without_a_bound_would_miss_it_every_other_time():
    missed = []
    for seed in range(25):
        known = record(seed, exits=3, inputs=4000)
        calibration, further = rows(known, np.arange(1000)), rows(known, np.arange(1000, 4000))
        missed.append(effect(further, tuned(calibration, 0.97)).agreement < 0.97)
    assert np.mean(missed) > 0.3


@pytest.mark.parametrize("proven_later", [False, True])
def test_wrong_answers_among_those_given_are_bounded_where_these_count(proven_later):
    known = record(1, exits=3, inputs=4000)
    found = certified(known, Constraint(0.95, of="answers", proven_later=proven_later))
    judging = known if proven_later else halves(known)[1]
    there = effect(judging, found.thresholds)
    assert there.answered.sum() > 0
    assert upper_bound(there.wrong, int(there.answered.sum())) <= 0.05
    assert found.inputs == judging.inputs
    assert there.answered.sum() / judging.inputs <= certified(known, Constraint(0.95)).effect.answered.sum() / 2000


def test_answers_to_some_eighty_inputs_are_enough_evidence_to_begin_with():
    few = Record.of(np.arange(160.0)[None] / 160, np.arange(160)[None] < 100, [1.0, 2.0])
    found = certified(few, Constraint(0.97, of="answers", proven_later=True))
    assert 76 <= found.effect.answered.sum() <= 104
    assert certified(few, Constraint(0.97, of="answers")).effect.answered.sum() == 0
    assert (
        certified(few, Constraint(0.97, of="answers", independent=0.35, proven_later=True)).effect.answered.sum() == 0
    )


def test_answers_given_by_little_evidence_are_mostly_as_good_as_wanted():
    accuracy = []
    for seed in range(20):
        known = record(seed, exits=3, inputs=3300)
        found = certified(rows(known, np.arange(300)), Constraint(0.97, of="answers", proven_later=True))
        there = effect(rows(known, np.arange(300, 3300)), found.thresholds)
        accuracy.append(1 - there.wrong / max(there.answered.sum(), 1))
    assert np.mean(accuracy) >= 0.97
    assert np.mean(np.array(accuracy) >= 0.97) >= 0.6


def test_with_few_inputs_no_exit_opens():
    few = record(2, exits=3, inputs=60)
    assert (certified(few, Constraint(0.99)).thresholds == 0).all()


def test_halves_are_runs_of_neighbours_that_share_nothing():
    first = Record.of(np.arange(200.0)[None] / 200, np.ones((1, 200), bool), [1.0, 2.0])
    one, other = halves(first)
    assert sorted([*one.errors[0], *other.errors[0]]) == list(first.errors[0])
    assert (np.diff(one.errors[0]) > 1.5 / 200).sum() == 9


def test_inputs_that_show_the_same_objects_count_less():
    known = record(1, exits=3, inputs=1500)
    alone, together = (
        certified(known, Constraint(0.97, "answers")),
        certified(known, Constraint(0.97, "answers", independent=0.3)),
    )
    assert together.effect.answered.sum() < alone.effect.answered.sum()
