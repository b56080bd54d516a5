"""Thresholds keep what they promise, on these inputs and on further ones, and are hardly worse than the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_adapt.exits.certify import is_tolerable, upper_bound
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.pooled import PooledAnswers, PoolRule, SaidLooks, ShownLooks
from cache_adapt.learned.tune import AIM, ExitCosts, TunedExits, tuned
from tests.cache_adapt.learned.taught import LABELS, SPEC, WORDS, exits, listened, samples

COSTS = ExitCosts.of([cut.share for cut in SPEC.cuts], look=1.0, cut=0.01, lookup=0.005)
UNKNOWN = LABELS


def heard(count: int = 800, seed: int = 1) -> Heard:
    return listened(exits(), samples(count, seed))


def made(errors: Sequence[Sequence[float]], said: Sequence[Sequence[int]], words: Sequence[int]) -> Heard:
    return Heard(np.array(errors, np.float32), np.array(said), np.array(words), UNKNOWN)


def bounds(known: Heard, found: TunedExits) -> tuple[float, float]:
    """Upper bounds on the wrong share of the answers, and on the lost share of the names."""
    judged = known.judged(known.chain(np.array(found.thresholds)))
    return upper_bound(*judged.evidence(judged.answered)), upper_bound(*judged.evidence(judged.named))


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    exits_=st.integers(1, 3),
    count=st.integers(0, 400),
    accuracy=st.floats(0.3, 1.0),
    agreement=st.sampled_from([0.7, 0.9, 0.95]),
)
def test_the_promises_hold_whatever_was_heard(seed, exits_, count, accuracy, agreement):
    rng = np.random.default_rng(seed)
    words = rng.choice([0, 1, UNKNOWN], count)
    errors = rng.random((exits_, count)).astype(np.float32)
    right = rng.random((exits_, count)) < accuracy + (1 - accuracy) * (1 - errors)
    said = np.where(right, words, 2)
    known = Heard(errors, said, words, UNKNOWN)
    costs = ExitCosts.of([0.3, 0.5, 0.7][:exits_], 1.0, 0.01, 0.002)
    found = tuned(known, costs, agreement)
    assert found.speedup >= costs.whole / costs.through - 1e-9
    assert all(0 <= threshold <= 1 for threshold in found.thresholds)
    assert all(rate == 0 for rate, threshold in zip(found.hit_rates, found.thresholds, strict=True) if not threshold)
    if found.answered:
        wrong, lost = bounds(known, found)
        assert wrong <= AIM * (1 - agreement) + 1e-9
        assert lost <= 1 - agreement + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_grid_of_all_thresholds_finds_hardly_better_ones(seed):
    known = heard(300, seed)
    found, best = tuned(known, COSTS, 0.85), COSTS.whole / COSTS.through
    steps = [np.concatenate([[0.0], np.sort(line)[::6].astype(np.float64)]) for line in known.errors]
    for thresholds in product(*steps):
        chain = known.chain(np.array(thresholds))
        judged = known.judged(chain)
        wrong, lost = judged.evidence(judged.answered), judged.evidence(judged.named)
        if is_tolerable(*wrong, AIM * 0.15) and is_tolerable(*lost, 0.15):
            asked = [place for place in (0, 1) if thresholds[place]]
            places = np.searchsorted([*asked, 2], chain.place)
            best = max(best, COSTS.whole / np.array(COSTS.leaving(asked))[places].mean())
    assert found.speedup >= 0.96 * best
    assert best > 1.1


def test_what_is_promised_comes_on_further_inputs():
    artefact, later = exits(1200), samples(6000, 99)
    further, agreements, lost = listened(artefact, later), [], []
    for seed in range(1, 13):
        found = tuned(listened(artefact, samples(800, seed)), COSTS, 0.9)
        chain = further.chain(np.array(found.thresholds))
        answered = chain.place < 2
        assert answered.mean() == pytest.approx(found.answered, abs=0.1)
        agreements.append(chain.right[answered].mean())
        lost.append(1 - chain.right[further.words != UNKNOWN].mean())
    assert min(agreements) >= 0.9
    assert np.mean(agreements) >= 1 - AIM * 0.1
    assert sum(each > 0.1 for each in lost) <= 2


def test_where_agreement_alone_would_let_all_names_be_lost_no_exit_answers():
    """60 of 2,000 inputs have a name, and the exit calls everything unknown: right in 97 of 100."""
    words = np.where(np.arange(2000) % 100 < 3, 1, UNKNOWN)
    errors = np.random.default_rng(0).random((1, 2000))
    known, costs = made(errors, np.full((1, 2000), UNKNOWN), words), ExitCosts.of([0.3], 1.0, 0.01, 0.005)
    assert upper_bound(60, 2000) <= AIM * 0.1
    assert tuned(known, costs, 0.9).answered < 0.1
    # Where the same inputs with a name are the ones that it is not sure of, it answers all others.
    unsure = made(np.where(known.words != UNKNOWN, 0.9 + errors / 10, errors / 2), known.said, words)
    found = tuned(unsure, costs, 0.9)
    assert found.answered > 0.9
    assert found.lost <= 0.1


def test_where_looks_are_pooled_names_are_kept_by_objects():
    """No name of 100 objects with twenty looks is lost, every third of 300 with one look: few of the looks."""
    objects = np.concatenate([np.repeat(np.arange(100), 20), np.arange(100, 400)])
    rng, words = np.random.default_rng(0), np.zeros(2300, np.intp)
    said = np.where((objects >= 100) & (np.arange(2300) % 3 == 0), UNKNOWN, 0)[None]
    alone = Heard(rng.random((1, 2300)), said, words, UNKNOWN, objects)
    labels = np.stack([np.where(said[0] == UNKNOWN, 3, 0), words])
    rule, shown = PoolRule(LABELS, 0.6, 0.7), ShownLooks.of([str(each) for each in objects])
    looks = SaidLooks(labels, np.full((2, 2300), 0.9, np.float32))
    pooled = replace(alone, pooled=PooledAnswers.of_looks(objects, shown, looks, WORDS, rule))
    costs = ExitCosts.of([0.3], 1.0, 0.01, 0.005)
    by_look, by_object = tuned(alone, costs, 0.8), tuned(pooled, costs, 0.8)
    lost = [pooled.judged(pooled.chain(np.array(each.thresholds))) for each in (by_look, by_object)]
    assert lost[0].share(lost[0].named) > 0.2, "it was the looks that kept the promise"
    assert lost[1].share(lost[1].named) == by_object.lost <= 0.2
    assert upper_bound(*lost[1].evidence(lost[1].named)) <= 0.2
    assert 0 < by_object.answered < 0.5 * by_look.answered


def test_without_names_there_is_no_proof_that_none_are_lost():
    known = heard().at((0, 1))
    nameless = replace(known, words=np.full(800, UNKNOWN), said=np.full((2, 800), UNKNOWN))
    assert tuned(nameless, COSTS, 0.9).answered == 0


def test_chained_exits_are_certified_as_a_chain():
    """Each exit loses other names, at most as many as are allowed; together they lose too many."""
    count = 2000
    words = np.zeros(count, int)
    lost = [np.arange(count) % 50 < 2, np.arange(count) % 50 >= 48]
    said = [np.where(each, UNKNOWN, 0) for each in lost]
    halves = np.arange(count) % 2 == 0
    errors = [np.where(halves, 0.1, 0.9), np.where(halves, 0.9, 0.1)]
    known = made(errors, said, words)
    costs = ExitCosts.of([0.3, 0.4], 1.0, 0.0, 0.001)
    alone = [tuned(known.at([place]), ExitCosts.of([0.3], 1.0, 0.0, 0.001), 0.9) for place in (0, 1)]
    assert [each.answered >= 0.5 for each in alone] == [True, True]
    both = tuned(known, costs, 0.9)
    assert both.lost <= 0.1
    assert both.agreement >= 1 - AIM * 0.1


def test_rows_of_fewer_objects_and_less_doubt_give_less():
    known = heard(600)
    answered = [tuned(replace(known, objects=np.arange(600) // each), COSTS, 0.85).answered for each in (1, 20, 100)]
    assert answered[0] > answered[1] >= answered[2] == 0
    assert tuned(known, COSTS, 0.85, doubt=0.5).answered >= answered[0]


def test_a_lower_agreement_never_gives_less():
    known = heard()
    speedups = [tuned(known, COSTS, agreement).speedup for agreement in (0.99, 0.95, 0.9, 0.8, 0.6)]
    assert speedups == sorted(speedups)
    assert speedups[-1] > 1.2


def test_an_exit_that_costs_more_than_it_saves_is_not_asked():
    known = heard()
    dear = ExitCosts((0.3, 0.7), (0.25, 0.005), 1.02, 1.0)
    found = tuned(known, dear, 0.85, budget=1.0)
    assert found.thresholds[0] == 0
    assert found.thresholds[1] > 0
    alone = tuned(known.at([1]), ExitCosts((0.7,), (0.005,), 1.02, 1.0), 0.85)
    assert found.speedup == pytest.approx(alone.speedup)


def test_lookups_of_inputs_that_run_through_keep_to_the_budget():
    known = heard()
    for lookup, most in ((0.005, 2), (0.015, 1), (0.03, 0)):
        found = tuned(known, ExitCosts.of([0.3, 0.7], 1.0, 0.01, lookup), 0.8)
        assert sum(threshold > 0 for threshold in found.thresholds) <= most
        assert (found.answered > 0) == (most > 0)


def test_nothing_heard_answers_nothing():
    found = tuned(heard().at((0, 1)), COSTS, 1.0)
    assert (found.answered, found.thresholds) == (0, (0.0, 0.0))
    empty = made([[], []], [[], []], [])
    assert tuned(empty, COSTS, 0.9).thresholds == (0.0, 0.0)
    assert tuned(empty, COSTS, 0.9).speedup == pytest.approx(1 / 1.02)
