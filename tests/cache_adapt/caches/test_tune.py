"""Which caches are to answer, and when: by what they said of inputs that they were not trained on."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.caches.training import train_predictor
from cache_adapt.caches.tune import SPARE, CachesHeard, Costs, TunedChoice, tuned
from cache_adapt.caches.untuned import untuned
from cache_adapt.exits.record import Record, effect
from tests.cache_adapt.caches.made import CLASSES, SHA, lessons

COSTS = Costs(until=(2.0, 4.0, 6.0), lookup=(0.1, 0.1, 0.1), through=8.2, whole=8.0)


def heard(*noises: float, count: int = 256, seed: int = 1) -> CachesHeard:
    """What caches at cuts of such noise say of further inputs."""
    errors, right = [], []
    for noise in noises:
        later = lessons(noise, count, seed)
        found = train_predictor("FC(64)", lessons(noise), np.random.default_rng(0)).probabilities(later.features)
        errors.append(1 - found.max(axis=1))
        right.append(found.argmax(axis=1) == later.answers)
    return CachesHeard(np.stack(errors), np.stack(right))


def record(known: CachesHeard, best: TunedChoice) -> Record:
    places = list(best.chosen)
    return Record.of(known.errors[places], known.right[places], COSTS.leaving(best.chosen))


def test_what_is_expected_comes_on_further_inputs():
    later, agreements = heard(4.0, 2.6, 1.8, count=3000, seed=2), []
    for seed in (1, 3, 4, 5):
        best = tuned(heard(4.0, 2.6, 1.8, seed=seed), COSTS, 0.9)
        assert best is not None
        came = effect(record(later, best), np.array(best.thresholds))
        through = COSTS.leaving(best.chosen)[-1]
        agreements.append(1 - came.wrong / came.answered.sum())
        assert COSTS.whole / (through * (1 - came.saved)) == pytest.approx(best.speedup, abs=0.06)
        # three standard errors of 256 looks
        assert (came.answered / 3000).tolist() == pytest.approx(best.hit_rates, abs=0.1)
    assert min(agreements) >= 0.9
    assert np.mean(agreements) >= 1 - SPARE * 0.1


def test_most_choices_are_so_good_that_a_proof_is_short():
    shares = []
    for seed in range(1, 13):
        best = tuned(heard(4.0, 2.6, 1.8, seed=seed), COSTS, 0.8)
        assert best is not None
        later = effect(record(heard(4.0, 2.6, 1.8, count=2000, seed=100 + seed), best), np.array(best.thresholds))
        shares.append(later.wrong / later.answered.sum())
    assert np.mean(shares) < SPARE * 0.2
    assert max(shares) < 0.2


def test_a_lower_agreement_never_gives_less():
    known = heard(4.0, 2.6, 1.8)
    found = [tuned(known, COSTS, agreement) for agreement in (0.99, 0.95, 0.9, 0.8)]
    speedups = [1.0 if each is None else each.speedup for each in found]
    assert speedups == sorted(speedups)
    assert speedups[-1] > 1.2


def test_a_cache_that_does_not_earn_its_lookup_is_left_out():
    known = heard(30.0, 1.2)  # the first one guesses
    costs = Costs(until=(2.0, 4.0), lookup=(0.5, 0.1), through=8.2, whole=8.0)
    best = tuned(known, costs, 0.9)
    assert best is not None
    assert best.chosen == (1,)
    alone = tuned(CachesHeard(known.errors[1:], known.right[1:]), Costs((4.0,), (0.1,), 8.2, 8.0), 0.9)
    assert alone is not None
    assert best.speedup == pytest.approx(alone.speedup)


@pytest.mark.parametrize("count", [0, 5])
def test_few_looks_show_nothing(count: int):
    assert tuned(heard(1.2, count=max(count, 1)) if count else _nothing(), COSTS, 0.95) is None


def test_where_cuts_cost_what_caches_save_there_are_none():
    known = heard(1.2)
    assert tuned(known, Costs((7.5,), (0.4,), 8.3, 8.0), 0.9) is None
    assert tuned(known, Costs((4.0,), (0.1,), 8.1, 8.0), 0.9) is not None


def test_caches_that_are_wrong_never_answer():
    known = heard(1.2)
    assert tuned(CachesHeard(known.errors, ~known.right), COSTS, 0.9) is None


def test_untuned_caches_answer_nothing_and_know_what_they_are_for():
    built = untuned("vehicle", SHA, {"a": lessons(1.8), "b": lessons(1.2)}, "FC(64)", 3)
    assert built.tensors == ("a", "b")
    assert (built.card.classes, built.card.samples, built.card.model_identity) == (CLASSES, 900, SHA)
    for cache, noise in zip(built.caches, (1.8, 1.2), strict=True):
        found = cache.look(lessons(noise, seed=4).features)
        assert not found.hit.any()
        assert (found.distribution.argmax(axis=1) == lessons(noise, seed=4).answers).mean() > 0.5
    again = untuned("vehicle", SHA, {"a": lessons(1.8), "b": lessons(1.2)}, "FC(64)", 3)
    assert again.to_bytes() == built.to_bytes()


def _nothing() -> CachesHeard:
    return CachesHeard(np.zeros((1, 0), np.float32), np.zeros((1, 0), bool))
