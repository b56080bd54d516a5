"""Algorithm 4.1 by the rules of the paper, and against an exact solver."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.budgets_parts.offers import Offer, choose
from serving.budgets.shares import Requester, per_request, saved

FREQUENCIES = st.lists(st.floats(0.01, 10), min_size=1, max_size=6)


@given(FREQUENCIES, st.floats(0.1, 1000), st.floats(1, 1e5))
def test_the_shares_of_all_future_requests_are_together_what_is_left(
    frequencies: list[float], left: float, until_s: float
) -> None:
    """Σ e_i f_i T = e (§4.3.3)."""
    requesters = [Requester(each) for each in frequencies]
    shares = [per_request(left, until_s, one, requesters[:i] + requesters[i + 1 :]) for i, one in enumerate(requesters)]
    paid = sum(share * each * until_s for share, each in zip(shares, frequencies, strict=True))
    assert paid == pytest.approx(left)


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_shares_are_proportional_to_frequencies(one: float, other: float) -> None:
    first = per_request(10.0, 100.0, Requester(one), [Requester(other)])
    second = per_request(10.0, 100.0, Requester(other), [Requester(one)])
    assert first * other == pytest.approx(second * one)


def test_loads_that_are_expected_are_set_aside() -> None:
    """Loaded 10 s ago for 2: until the end of 100 s ten more loads, 20 of 50 (Line 18)."""
    assert per_request(50.0, 100.0, Requester(1.0, 2.0, 10.0)) == pytest.approx(0.3)
    assert per_request(50.0, 100.0, Requester(1.0, 2.0, inf)) == pytest.approx(0.5)
    assert per_request(50.0, 100.0, Requester(1.0, 2.0, 1.0)) == 0.0
    assert per_request(50.0, 100.0, Requester(1.0, 2.0, 0.0)) == 0.0


def test_nothing_is_shared_out_of_nothing() -> None:
    assert per_request(-1.0, 100.0, Requester(1.0)) == 0.0
    assert per_request(0.0, 0.0, Requester(0.0)) == 0.0


ON_DEVICE = Offer("small", "device", 0.7, {"energy": 1.0})
SPLIT = Offer("large", "split", 0.85, {"energy": 1.0, "cash": 2.0}, {"energy": 0.25, "cash": 0.75})
IN_CLOUD = Offer("large", "cloud", 0.9, {"cash": 4.0})


@pytest.mark.parametrize(
    ("energy", "cash", "place"),
    [
        (1.0, 4.0, "cloud"),
        (1.0, 3.9, "device"),
        (4.0, 3.0, "split"),  # a quarter of 4 covers 1, three quarters of 3 cover 2
        (3.9, 3.0, "device"),
        (0.9, 3.9, None),
        (inf, inf, "cloud"),
    ],
)
def test_the_place_of_the_greatest_accuracy_that_its_shares_cover_is_chosen(
    energy: float, cash: float, place: str | None
) -> None:
    found = choose([ON_DEVICE, SPLIT, IN_CLOUD], {"energy": energy, "cash": cash})
    assert (None if found is None else found.place) == place


def test_of_equally_accurate_places_the_one_with_the_lesser_strain_is_chosen() -> None:
    cloud = Offer("large", "cloud", 0.9, {"cash": 4.0})
    device = Offer("large", "device", 0.9, {"energy": 1.0})
    assert choose([cloud, device], {"energy": 10.0, "cash": 5.0}) == device
    assert choose([cloud, device], {"energy": 1.1, "cash": 50.0}) == cloud
    assert choose([], {}) is None


OFFERS = st.lists(
    st.builds(
        lambda accuracy, cost: Offer(f"{accuracy}", "cloud", accuracy, {"cash": cost}),
        st.floats(0.3, 1),
        st.floats(0.05, 3),
    ),
    min_size=1,
    max_size=4,
).map(lambda offers: [*offers, Offer("least", "device", 0.2)])


def exact(offers: list[Offer], requests: int, budget: float) -> float:
    """The greatest sum of accuracies: one offer for each request, costs within the budget (Equations 4.1 and 4.3)."""
    accuracy = np.array([each.accuracy for each in offers])
    cost = np.array([each.costs.get("cash", 0.0) for each in offers])
    one_each = LinearConstraint(np.ones((1, len(offers))), requests, requests)
    within = LinearConstraint(cost[None], -np.inf, budget)
    found = milp(
        -accuracy,
        integrality=np.ones(len(offers)),
        bounds=Bounds(0, requests),
        constraints=[one_each, within],
        options={"mip_rel_gap": 0},
    )
    return -float(found.fun)


def served(offers: list[Offer], requests: int, budget: float, carries: bool) -> tuple[float, float]:
    """Sum of accuracies and cost of requests that come once a second, by the heuristic."""
    left, purse, total = budget, 0.0, 0.0
    for number in range(requests):
        share = per_request(left, requests - number, Requester(1.0))
        purse = saved(purse, share, 60 * share) if carries else share
        chosen = choose(offers, {"cash": min(purse, left) + 1e-12})
        assert chosen is not None
        cost = chosen.costs.get("cash", 0.0)
        left, purse, total = left - cost, purse - cost, total + chosen.accuracy
    return total, budget - left


@settings(max_examples=150, deadline=None)
@given(OFFERS, st.integers(1, 60), st.floats(0, 60), st.booleans())
def test_the_heuristic_never_exceeds_the_budget_and_is_never_better_than_exact(
    offers: list[Offer], requests: int, budget: float, carries: bool
) -> None:
    total, spent = served(offers, requests, budget, carries)
    assert spent <= budget + 1e-6
    assert total <= exact(offers, requests, budget) + 1e-6
    assert total >= 0.2 * requests - 1e-9


@settings(max_examples=150, deadline=None)
@given(st.floats(0.3, 1), st.floats(0.05, 3), st.integers(1, 60), st.floats(0, 60), st.booleans())
def test_between_one_priced_offer_and_a_free_one_it_is_exact_but_for_one_request(
    accuracy: float, cost: float, requests: int, budget: float, carries: bool
) -> None:
    offers = [Offer("large", "cloud", accuracy, {"cash": cost}), Offer("least", "device", 0.2)]
    total, _ = served(offers, requests, budget, carries)
    assert total >= exact(offers, requests, budget) - (accuracy - 0.2) - 1e-6


def test_what_is_saved_spreads_the_dear_answers_over_the_day() -> None:
    """Without it the paper's rule keeps them all for the end."""
    dear = Offer("large", "cloud", 0.9, {"cash": 1.0})
    offers, half = [dear, Offer("least", "device", 0.2)], 30

    def places(carries: bool) -> list[int]:
        left, purse, found = 20.0, 0.0, []
        for number in range(60):
            share = per_request(left, 60 - number, Requester(1.0))
            purse = saved(purse, share, 60 * share) if carries else share
            if choose(offers, {"cash": purse + 1e-9}) == dear:
                left, purse = left - 1.0, purse - 1.0
                found.append(number)
        return found

    assert sum(each < half for each in places(carries=True)) == 10
    assert sum(each < half for each in places(carries=False)) == 0
    assert len(places(carries=True)) == len(places(carries=False)) == 20


def test_two_budgets_at_once_are_near_the_optimum() -> None:
    """Device energy, cloud cash and a split: the exact solution of the relaxed programme bounds it."""
    offers = [Offer("least", "device", 0.3), ON_DEVICE, IN_CLOUD]
    energy, cash, requests, total = 100.0, 120.0, 300, 0.0
    left, purse = {"energy": energy, "cash": cash}, {"energy": 0.0, "cash": 0.0}
    for number in range(requests):
        for budget in left:
            share = per_request(left[budget], requests - number, Requester(1.0))
            purse[budget] = saved(purse[budget], share, 60 * share)
        chosen = choose(offers, {budget: purse[budget] + 1e-9 for budget in purse})
        assert chosen is not None
        for budget, cost in chosen.costs.items():
            left[budget], purse[budget] = left[budget] - cost, purse[budget] - cost
        total += chosen.accuracy
    # 30 in the cloud, 100 on the device, 170 by the least.
    assert total == pytest.approx(30 * 0.9 + 100 * 0.7 + 170 * 0.3, rel=0.02)
    assert min(left.values()) > -1e-6
