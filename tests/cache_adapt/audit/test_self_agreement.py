from __future__ import annotations

import random

import numpy as np
import pytest

from cache_adapt.audit.self_agreement import LIMITS, SelfAudit, out_of_reach, reachable
from cache_adapt.audit.verdict import AgreementEstimate


def after(agreed: int, differed: int) -> AgreementEstimate:
    found = SelfAudit()
    for place in range(agreed + differed):
        found.tell(place >= differed)
    return found.estimate()


def test_without_comparisons_nothing_is_known_and_nothing_is_out_of_reach() -> None:
    found = SelfAudit().estimate()
    assert (found.audits, found.agreement, reachable(found)) == (0, None, None)
    assert not out_of_reach(1.0, found)


def test_the_estimate_is_that_of_the_comparisons() -> None:
    found = after(360, 40)
    assert (found.audits, found.disagreements, found.agreement) == (400, 40, 0.9)
    assert found.sequential.low < 0.9 < found.sequential.high < 0.96


def test_only_the_latest_comparisons_count() -> None:
    found = after(1000, 2000)
    assert found.audits <= LIMITS.audits
    assert found.agreement == 1.0


def test_a_target_is_out_of_reach_where_it_is_above_the_root_of_the_upper_bound() -> None:
    found = after(160, 40)  # 0.8, and 0.88 at the most
    limit = found.sequential.high**0.5
    assert 0.92 < limit < 0.95
    assert out_of_reach(limit + 1e-6, found)
    assert not out_of_reach(limit - 1e-6, found)


@pytest.mark.parametrize(
    ("agreed", "differed", "target"), [(100, 0, 0.99), (95, 5, 0.9), (90, 10, 0.8), (99, 1, 0.98), (75, 25, None)]
)
def test_the_target_that_can_be_reached_allows_twice_as_many_disagreements(
    agreed: int, differed: int, target: float | None
) -> None:
    assert reachable(after(agreed, differed)) == target


def test_it_survives() -> None:
    one = SelfAudit()
    one.tell(True)
    other = SelfAudit(one.state)
    other.tell(False)
    assert other.estimate().agreement == 0.5


@pytest.mark.parametrize("words", [2, 5])
def test_nothing_agrees_with_an_oracle_more_often_than_the_root_of_its_agreement_with_itself(words: int) -> None:
    """Brute force over objects whose words are as likely as it happens; the best rival says the likeliest word."""
    rng = np.random.default_rng(words)
    for sharpness in (0.05, 0.3, 3.0):
        likely = rng.dirichlet([sharpness] * words, 2000)
        assert likely.max(axis=1).mean() <= (likely**2).sum(axis=1).mean() ** 0.5 + 1e-12


def test_what_is_said_to_be_out_of_reach_is_out_of_reach() -> None:
    """At any time, in 95 of 100 runs: an oracle that errs in a tenth, and a rival that never does."""
    wrong = 0
    for seed in range(100):
        rng, found = random.Random(seed), SelfAudit()
        said = False
        for number in range(300):
            found.tell((rng.random() < 0.1) == (rng.random() < 0.1))
            if number % 10 == 0:
                said |= out_of_reach(0.9, found.estimate())
        wrong += said
    assert wrong <= 5
