"""Whether heads of a template can pay at an accuracy, in one sentence."""

from __future__ import annotations

import pytest

from specialization.rates import MeasuredRates, Rates
from specialization.templates.prospects import Prospect, answered_share, at_most, dispensable, tolerance, why_not

SURE, UNSURE = Rates(a_in=0.95, e_in_out=0.04, a_out=0.98), Rates(a_in=0.3, e_in_out=0.69, a_out=0.99)
LADDER = (MeasuredRates(0.01, {1: UNSURE, 5: UNSURE}), MeasuredRates(0.025, {1: SURE, 5: UNSURE}))


def test_a_head_may_err_half_as_often_as_the_query_allows_and_less_after_failures() -> None:
    assert tolerance(0.95) == pytest.approx(0.025)
    assert tolerance(0.95, strictness=2) == pytest.approx(0.00625)


@pytest.mark.parametrize(("allowed", "found"), [(0.005, None), (0.01, 0.01), (0.02, 0.01), (0.025, 0.025), (1, 0.025)])
def test_the_largest_tolerance_that_is_allowed_counts(allowed: float, found: float | None) -> None:
    measured = at_most(LADDER, allowed)
    assert (measured.tolerance if measured else None) == found


def test_the_best_number_of_classes_counts() -> None:
    assert answered_share(LADDER, 0.025) == pytest.approx(1 - (0.95 * 0.04 + 0.05 * 0.98))
    assert answered_share(LADDER, 0.001) == 0.0


def test_where_one_template_can_pay_nothing_is_said() -> None:
    templates = {"good": Prospect(0.1, LADDER), "bad": Prospect(0.1, LADDER[:1])}
    assert why_not(templates, 0.95) is None
    assert why_not({"unmeasured": Prospect(0.2, ())}, 0.95) is None


def test_heads_that_would_say_other_most_of_the_time_are_not_used_and_it_is_said_why() -> None:
    found = why_not({"compact": Prospect(0.1, LADDER)}, 0.97)
    assert found == (
        "heads will not be used at accuracy 0.97: those of compact that are wrong in 1.5% of their answers at most "
        "answer 29% of the objects even on a stream that suits them, and looking costs 10% of the oracle; "
        "more or better pictures may help"
    )


def test_an_accuracy_that_nobody_has_measured_names_the_one_that_is_possible() -> None:
    found = why_not({"compact": Prospect(0.1, LADDER)}, 0.99)
    assert found
    assert found.startswith("heads will not be used at accuracy 0.99: those of compact may be wrong in 0.50%")
    assert found.endswith("0.98 is possible")


def test_a_compact_network_that_costs_as_much_as_the_oracle_is_refused() -> None:
    assert "looking costs 95% of the oracle" in (why_not({"unmeasured": Prospect(0.95, ())}, 0.9) or "")


def test_where_the_oracle_goes_on_from_its_cut_a_dearer_template_pays() -> None:
    template = Prospect(0.78, ())
    assert "looking costs 78% of the oracle" in (why_not({"early": template}, 0.9) or "")
    assert why_not({"early": template._replace(passed=0.85)}, 0.9) is None


def test_perfect_agreement_leaves_no_room_for_heads() -> None:
    assert why_not({"unmeasured": Prospect(0.1, ())}, 1.0) == (
        "heads will not be used at accuracy 1: it allows for no disagreement at all"
    )


def test_of_templates_that_do_the_same_the_better_one_is_enough() -> None:
    templates = {"weak": Prospect(0.1, (MeasuredRates(0.025, {1: UNSURE, 5: UNSURE}),)), "good": Prospect(0.1, LADDER)}
    assert dispensable(templates, 0.95) == {"weak"}
    assert dispensable({"one": templates["good"], "other": templates["good"]}, 0.95) in ({"one"}, {"other"})


def test_a_template_that_is_better_for_some_number_of_classes_is_kept() -> None:
    few, many = MeasuredRates(0.025, {1: SURE, 5: UNSURE}), MeasuredRates(0.025, {1: UNSURE, 5: SURE})
    assert not dispensable({"few": Prospect(0.1, (few,)), "many": Prospect(0.1, (many,))}, 0.95)
    assert not dispensable(
        {"cheap": Prospect(0.05, (few,)), "dear": Prospect(0.1, (MeasuredRates(0.025, {1: SURE, 8: UNSURE}),))}, 0.95
    )


def test_what_nobody_has_measured_is_kept() -> None:
    assert not dispensable({"good": Prospect(0.1, LADDER), "unmeasured": Prospect(0.2, ())}, 0.95)
