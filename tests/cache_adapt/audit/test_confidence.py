"""The intervals: exact values, agreement between interval and decision, and coverage whatever the content does."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv, gammaln
from scipy.stats import binomtest

from cache_adapt.audit.confidence import ConfidenceInterval, against, exact, sequential

RUNS, ANSWERS, ERROR = 1000, 1200, 0.05
Content = Callable[[int, np.ndarray], np.ndarray]
"""From the number of the answer and the disagreements found so far in each run: how probable a disagreement is."""


@given(st.integers(1, 500), st.data())
def test_the_exact_interval_is_that_of_clopper_and_pearson(audits: int, data: st.DataObject) -> None:
    wrong = data.draw(st.integers(0, audits))
    theirs = binomtest(audits - wrong, audits).proportion_ci(0.95, method="exact")
    ours = exact(wrong, audits, 0.05)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize(("wrong", "audits"), [(1, 100_000), (40, 100_000), (50_000, 100_000), (99_990, 100_000)])
def test_the_exact_interval_of_very_many_audits(wrong: int, audits: int) -> None:
    found = exact(wrong, audits, 0.05)
    assert found.low == pytest.approx(betaincinv(audits - wrong, wrong + 1, 0.025), abs=1e-9)
    assert found.high == pytest.approx(betaincinv(audits - wrong + 1, wrong, 0.975), abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "audits", "low", "high"),
    [(0, 158, 0.96997, 1.0), (0, 159, 0.97016, 1.0), (20, 1000, 0.96289, 0.99101), (10, 12, 0.0, 0.75659)],
)
def test_values_of_the_sequential_interval(wrong: int, audits: int, low: float, high: float) -> None:
    found = sequential(wrong, audits, 0.05)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


def test_without_audits_nothing_is_known() -> None:
    assert sequential(0, 0, 0.05) == ConfidenceInterval(0.0, 1.0)


@given(st.integers(0, 300), st.integers(1, 5000), st.floats(0.01, 0.99), st.sampled_from([0.01, 0.05, 0.2]))
def test_an_agreement_is_ruled_out_where_it_is_outside_the_interval(
    wrong: int, audits: int, agreement: float, error: float
) -> None:
    found = sequential(wrong, audits, error)
    if min(abs(agreement - found.low), abs(agreement - found.high)) < 1e-9:
        return
    assert against(wrong, (1 - agreement) * audits, error) == (not found.low < agreement < found.high)


@given(st.integers(0, 200), st.integers(0, 2000))
def test_to_be_right_at_every_look_costs_width(wrong: int, right: int) -> None:
    audits = wrong + right
    if audits:
        one, every = exact(wrong, audits, 0.05), sequential(wrong, audits, 0.05)
        assert every.low <= one.low + 1e-9
        assert every.high >= one.high - 1e-9


CONTENTS: dict[str, Content] = {
    "steady": lambda i, seen: np.full(RUNS, 0.03),
    "always wrong": lambda i, seen: np.ones(RUNS),
    "good, then bad": lambda i, seen: np.full(RUNS, 0.0 if i < 700 else 0.3),
    "bad, then good": lambda i, seen: np.full(RUNS, 0.3 if i < 300 else 0.0),
    "slowly worse": lambda i, seen: np.full(RUNS, 0.1 * i / ANSWERS),
    "by day and night": lambda i, seen: np.full(RUNS, 0.05 * (1 + math.sin(i / 80))),
    "one object after the other": lambda i, seen: np.full(RUNS, float((i // 60) % 10 == 0)),
    "against us": lambda i, seen: np.where(seen % 3 == 0, 0.4, 0.0),  # calm as soon as it was caught
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("rates", [(1.0, 1.0), (0.2, 0.2), (1.0, 0.1)], ids=["all", "one rate", "two rates"])
def test_the_sequential_interval_holds_what_had_to_disagree_at_all_times_in_95_of_100_runs(
    content: Content, rates: tuple[float, float]
) -> None:
    rng = np.random.default_rng(1)
    seen, expected, missed = np.zeros(RUNS), np.zeros(RUNS), np.zeros(RUNS, bool)
    for i in range(ANSWERS):
        chance, audited = content(i, seen), rng.random(RUNS) < rates[i >= ANSWERS // 3]
        seen += audited & (rng.random(RUNS) < chance)
        expected += audited * chance
        missed |= log_mixture(seen, expected) >= -math.log(ERROR)
    assert missed.mean() <= ERROR


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_it_holds_the_agreement_of_all_objects_whether_drawn_or_not(content: Content) -> None:
    """The oracle is sure of some objects only, of fewer where there is more disagreement: these are meant."""
    rng = np.random.default_rng(3)
    seen, audits, wrong, sure = np.zeros(RUNS), np.zeros(RUNS), np.zeros(RUNS), np.zeros(RUNS)
    missed = np.zeros(RUNS, bool)
    for i in range(ANSWERS):
        chance = content(i, seen)
        counts, audited = rng.random(RUNS) < 0.9 - 0.5 * chance, rng.random(RUNS) < 0.2
        disagrees = counts & (rng.random(RUNS) < chance)
        sure += counts
        wrong += disagrees
        audits += counts & audited
        seen += disagrees & audited
        missed |= log_mixture(seen, audits * wrong / np.maximum(1, sure)) >= -math.log(ERROR)
    assert missed.mean() <= ERROR


INDIFFERENT = {name: content for name, content in CONTENTS.items() if name != "against us"}


@pytest.mark.parametrize("content", INDIFFERENT.values(), ids=INDIFFERENT)
def test_the_exact_interval_holds_the_agreement_at_one_look_in_95_of_100_runs(content: Content) -> None:
    rng = np.random.default_rng(2)
    seen, audits, wrong = np.zeros(RUNS), np.zeros(RUNS), np.zeros(RUNS)
    for i in range(ANSWERS):
        disagrees, audited = rng.random(RUNS) < content(i, seen), rng.random(RUNS) < 0.05
        wrong += disagrees
        audits += audited
        seen += disagrees & audited
    found = [exact(int(n), int(k), ERROR) for n, k in zip(seen, audits, strict=True)]
    covered = [each.low <= 1 - w / ANSWERS <= each.high for each, w in zip(found, wrong, strict=True)]
    assert np.mean(covered) >= 1 - ERROR


def log_mixture(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Logarithm of the formula at the module's head, for all runs at once."""
    value: np.ndarray = m + gammaln(n + 1) - (n + 1) * np.log1p(m)
    return value


@given(st.integers(0, 300), st.floats(0, 300))
def test_the_decision_is_the_formula(n: int, m: float) -> None:
    excess = float(log_mixture(np.array(n), np.array(m))) + math.log(ERROR)
    if abs(excess) > 1e-6:
        assert against(n, m, ERROR) == (excess >= 0)


def test_scipy_is_not_imported_for_it() -> None:
    """It takes longer to import than a run needs for its first frame."""
    probe = "import sys, cache_adapt.audit.audit; print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout == "False\n"
