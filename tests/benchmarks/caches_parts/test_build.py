"""From activations to a calibrated set of caches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.caches_parts.build import WholeNetwork, build, latencies
from benchmarks.caches_parts.cache_exit import CacheExit
from benchmarks.caches_parts.calibrate import best_score, calibrated
from benchmarks.caches_parts.certified import Constraint
from benchmarks.caches_parts.explore import BuildGoal, Explored, explore, problem
from benchmarks.caches_parts.held import HeldOutPredictions, folds, held
from benchmarks.caches_parts.selector import HIDDEN, Selector, largest
from benchmarks.caches_parts.training import Lessons, train_predictor
from cache_adapt.learned.fit import soft_map
from cache_adapt.learned.vocabulary import Vocabulary
from tests.benchmarks.caches_parts.made import CLASSES, cuts, lessons

NETWORK = WholeNetwork("vehicle", 8e-3)
WANTED = BuildGoal(Constraint(0.95), architectures=("FC(64)", "Pool(128)"))


@pytest.fixture(scope="module")
def explored() -> list[Explored]:
    return list(explore(cuts(), WANTED, lambda cache: 1e-4))


def test_everything_that_fits_is_explored_once(explored):
    assert [each.key for each in explored] == [
        (f"layer{place}", name) for place in (1, 2, 3) for name in ("FC(64)", "Pool(128)")
    ]
    assert all(each.lookup_s == 1e-4 and each.memory_bytes > 0 for each in explored)


def test_later_cuts_answer_more(explored):
    rates = [each.points[0].hit_rate for each in explored if each.architecture == "FC(64)"]
    assert rates == sorted(rates)
    assert rates[-1] > 0.3


def test_a_smaller_budget_answers_less_and_better(explored):
    for each in explored:
        assert each.points[0].hit_rate >= each.points[-1].hit_rate
        assert all(point.hit_rate * (1 - point.accuracy) <= 1 - point.agreement + 1e-9 for point in each.points)


def test_what_is_known_is_not_explored_again(explored):
    def never(cache):
        raise AssertionError("explored again")

    assert list(explore(cuts(), WANTED, never, explored)) == explored


def test_built_caches_keep_the_agreement_on_further_inputs_and_are_faster(explored):
    known = cuts()
    made = build(NETWORK, known, explored, WANTED)
    assert made.exits is not None
    assert made.latency_s < 0.95 * NETWORK.whole_s
    assert made.exits.speedup == pytest.approx(NETWORK.whole_s / made.latency_s)
    noise = {"layer1": 4.0, "layer2": 2.6, "layer3": 1.8}
    further = {name: lessons(noise[name], 4000, seed=9) for name in noise}
    left, wrong = np.zeros(4000, bool), 0
    for cache in made.exits.exits:
        found = cache.look(further[cache.tensor].features)
        new = found.hit & ~left
        wrong += int((found.distribution.argmax(axis=1) != further[cache.tensor].words)[new].sum())
        left |= new
    assert left.mean() > 0.2
    assert wrong / 4000 <= 0.05


def test_of_few_caches_every_set_is_tuned_together_and_the_fastest_is_taken(monkeypatch):
    known, wanted = cuts(), BuildGoal(Constraint(0.9, "answers", proven_later=True), architectures=("FC(64)",))
    explored = list(explore(known, wanted, lambda cache: 1e-4))
    latencies_s: dict[int, list[float]] = {}

    def seen(scores, right, leave_s, constraint):
        found = calibrated(scores, right, leave_s, constraint)
        latencies_s.setdefault(len(scores), []).append(leave_s[-1] * (1 - found[1].effect.saved))
        return found

    monkeypatch.setattr("benchmarks.caches_parts.build.calibrated", seen)
    made = build(NETWORK, known, explored, wanted)
    assert made.exits is not None
    assert [len(latencies_s[size]) >= sets for size, sets in ((1, 3), (2, 3), (3, 1))] == [True] * 3
    assert made.latency_s == min(min(some) for some in latencies_s.values())


def test_what_was_cross_fitted_to_explore_is_not_fitted_again_to_build(monkeypatch):
    known, wanted = cuts(300), BuildGoal(Constraint(0.9, "answers", proven_later=True), architectures=("FC(64)",))
    fits: dict[tuple[str, str], HeldOutPredictions] = {}
    explored = list(explore(known, wanted, lambda cache: 1e-4, fits=fits))
    assert list(fits) == [each.key for each in explored]
    made = build(NETWORK, known, explored, wanted)
    monkeypatch.setattr("benchmarks.caches_parts.build.held_at", None)
    again = build(NETWORK, known, explored, wanted, fits)
    assert (again.latency_s, again.certified.inputs) == (made.latency_s, made.certified.inputs)


def test_what_few_caches_may_take_is_kept():
    known, wanted = cuts(), BuildGoal(Constraint(0.9, "answers", proven_later=True), architectures=("FC(64)",))
    explored = list(explore(known, wanted, lambda cache: 1e-4))
    one = explored[0].memory_bytes
    made = build(NETWORK, known, explored, replace(wanted, memory_bytes=one))
    assert made.exits is not None
    assert len(made.exits.exits) == 1
    assert build(NETWORK, known, explored, replace(wanted, memory_bytes=one - 1)).exits is None


def test_where_lookups_cost_too_much_nothing_is_built(explored):
    slow = [replace_lookup(each, 6e-3) for each in explored]
    made = build(NETWORK, cuts(), slow, WANTED)
    assert (made.exits, made.latency_s) == (None, NETWORK.whole_s)


def replace_lookup(each: Explored, seconds: float) -> Explored:
    return Explored(each.tensor, each.architecture, each.selector, each.points, seconds, each.memory_bytes)


def test_the_problem_counts_the_cut_to_the_lookup(explored):
    found = problem(cuts(), NETWORK.whole_s, explored, WANTED)
    assert found.layers == pytest.approx([2e-3] * 4)
    assert [cache.lookup for cache in found.caches] == pytest.approx([1.5e-4] * len(found.caches))


def test_an_input_pays_for_every_lookup_on_its_way(explored):
    chosen = [(cut, next(each for each in explored if each.tensor == cut.tensor)) for cut in cuts()[:2]]
    assert latencies(chosen, 8e-3) == pytest.approx([2.15e-3, 4.3e-3, 8.3e-3])


def test_folds_are_runs_of_neighbours():
    found = folds(120)
    assert set(found) == {0, 1, 2}
    assert (np.diff(found) != 0).sum() == 11


def test_the_better_score_is_taken():
    known = held("FC(64)", lessons(2.6), np.random.default_rng(0))
    worthless = HeldOutPredictions(
        known.distribution, known.right, known.errors | {True: np.full(900, 0.5, np.float32)}
    )
    assert best_score(worthless, Constraint(0.95))[0] is False
    clear = np.where(known.right, 0.1, 0.9).astype(np.float32)
    assert best_score(replace(known, errors=known.errors | {True: clear}), Constraint(0.95))[0] is True


def test_thresholds_are_on_the_scores_themselves():
    known = held("FC(64)", lessons(1.8), np.random.default_rng(0))
    errors = largest(known.distribution)
    (threshold,), found = calibrated([errors], [known.right], [1.0, 2.0], Constraint(0.95))
    assert abs((errors < threshold).mean() - found.thresholds[0]) < 0.01


def test_built_exits_say_unknown_where_the_network_names_nothing():
    def doubtful(known: Lessons) -> Lessons:
        shares = known.shares.copy()
        shares[::3] = 0.5 * shares[::3] + 0.5 / CLASSES
        features = known.features.copy()
        features[::3, :16] += 6
        return Lessons.of(features, known.grid, shares, Vocabulary(CLASSES, 0.7))

    known = [replace(cut, lessons=doubtful(cut.lessons)) for cut in cuts()]
    wanted = BuildGoal(Constraint(0.9, "answers", proven_later=True), architectures=("FC(64)",))
    made = build(NETWORK, known, list(explore(known, wanted, lambda cache: 1e-4)), wanted)
    assert made.exits is not None
    assert made.exits.vocabulary.unknown in made.exits.exits[0].seen
    last = made.exits.exits[-1]
    later = doubtful(lessons({"layer1": 4.0, "layer2": 2.6, "layer3": 1.8}[last.tensor], 2000, seed=9))
    found = last.look(later.features.astype(np.float32))
    said = later.vocabulary.of(found.distribution)
    assert (said[found.hit] == later.words[found.hit]).mean() > 0.85
    assert (said[found.hit] == later.vocabulary.unknown).any()


def test_what_is_no_number_is_never_sure_whatever_the_selector_says():
    known = lessons(1.2)
    predictor = train_predictor("FC(64)", known, np.random.default_rng(0))
    layers = (np.ones((CLASSES, HIDDEN), np.float32), np.zeros(HIDDEN, np.float32))
    sure = Selector(layers, (np.zeros((HIDDEN, 1), np.float32), np.full(1, 50, np.float32)))
    broken = known.features[:2].astype(np.float32)
    broken[1, 4] = np.nan
    weights, labels = np.ones(len(known.words), np.float32), tuple(range(known.shares.shape[1]))
    soft = soft_map(known.features.astype(np.float32), known.shares, weights, labels)
    for selector in (None, sure):
        made = CacheExit.of("layer1", known.vocabulary, known.seen, predictor, soft, selector)
        assert made.at(1.1).look(broken).hit.tolist() == [True, False]
