"""What new caches would have said of looks, and who is to answer by it."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.caches.tune import TunedChoice
from operators.audits.roles import Roles
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.hearing import ENOUGH, MOST, Hearing
from operators.recognise.classifier import Classifier
from operators.testing import FakeEngine
from serving.engines.exits import ExitOutputs
from tests.operators.recognise.cached.paints import GRID, ORACLE_CARD, built, named

PLAN = [CutPlace("early", GRID, 0.3), CutPlace("late", GRID, 0.7)]


def recogniser(min_confidence: float = 0.0) -> Classifier:
    engine = FakeEngine(oracle=(ORACLE_CARD, named))
    return Classifier(engine, Roles.of(["oracle"], engine.card), "paint", min_confidence=min_confidence)


def looks(scores: np.ndarray, taps: np.ndarray) -> ExitOutputs:
    count = len(scores)
    place, version = np.full(count, 2, np.int32), np.zeros(count, np.int32)
    return ExitOutputs(scores, place, version, np.zeros((count, 0), np.float32), [taps, taps])


def clear(count: int) -> ExitOutputs:
    """Red, for the oracle and for the caches."""
    return looks(np.tile([0.0, 0.0, 9.0], (count, 1)).astype(np.float32), np.tile([0, 0, 900], (count, 1)))


def test_caches_that_say_what_the_oracle_says_are_to_answer():
    hearing = Hearing(built(), PLAN, recogniser(), clock=lambda: 0.0)
    hearing.hear(clear(ENOUGH - 1))
    assert not hearing.is_enough
    hearing.hear(clear(1))
    assert hearing.is_enough
    best = hearing.best(0.010, 0.95)
    assert best is not None
    assert (best.chosen, best.hit_rates) == ((0,), (1.0,)), "the first one is asked, the second never"
    chosen = hearing.chosen(best, 0.95)
    assert chosen.tensors == ("early",)
    assert chosen.caches[0].threshold == chosen.card.caches[0].threshold == best.thresholds[0] > 0
    assert (chosen.card.agreement, chosen.card.speedup) == (0.95, best.speedup)
    assert chosen.caches[0].look(np.array([[0, 0, 900]], np.float32)).hit.all()


def test_caches_that_say_something_else_are_not():
    hearing = Hearing(built(), PLAN, recogniser(), clock=lambda: 0.0)
    hearing.hear(looks(np.tile([9.0, 0.0, 0.0], (ENOUGH, 1)), np.tile([0, 0, 900], (ENOUGH, 1))))
    assert hearing.best(0.010, 0.95) is None


def test_what_the_oracle_would_not_publish_a_cache_may_not_name():
    unsure = looks(np.tile([0.0, 0.0, 0.5], (ENOUGH, 1)), np.tile([0, 0, 900], (ENOUGH, 1)))
    for least, pays in ((0.0, True), (0.8, False)):
        hearing = Hearing(built(), PLAN, recogniser(least), clock=lambda: 0.0)
        hearing.hear(unsure)
        assert (hearing.best(0.010, 0.95) is not None) is pays


def test_where_the_first_looks_show_nothing_as_many_again_are_heard_once():
    hearing = Hearing(built(), PLAN, recogniser(), clock=lambda: 0.0)
    hearing.hear(clear(ENOUGH))
    assert hearing.goes_on()
    assert not hearing.is_enough
    hearing.hear(clear(MOST - ENOUGH))
    assert hearing.is_enough
    assert not hearing.goes_on()


def test_lookups_are_timed_where_they_are_made():
    ticks = iter(np.arange(0, 100, 0.001).tolist())
    hearing = Hearing(built(), PLAN, recogniser(), clock=lambda: next(ticks))
    for _ in range(ENOUGH):
        hearing.hear(clear(1))
    assert hearing.spent_s == pytest.approx(2 * ENOUGH * 0.001)
    assert hearing.best(0.0012, 0.95) is None, "a lookup takes what is left of so quick a network"
    best = hearing.best(0.030, 0.95)
    assert isinstance(best, TunedChoice)
