"""Decisions between several models, settled by how many objects are left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operators.decision import Decision, Rung

LADDER = (Rung("large", 3), Rung("middle", 8), Rung("small", 40))


def every(model: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("objects", "barred", "variant", "why", "cause"),
    [
        (0, "", "large", "has time for 3 objects, 0 to look at", None),
        (3, "", "large", "has time for 3 objects, 3 to look at", None),
        (4, "", "middle", "has time for 8 objects, 4 to look at; large for 3", None),
        (9, "", "small", "has time for 40 objects, 9 to look at; middle for 8", None),
        (41, "", "small", "no model has time for 41: the fastest answers", "cheapest"),
        (4, "middle", "small", "has time for 40 objects, 4 to look at; large for 3", None),
        (41, "small", "middle", "no model has time for 41: the fastest answers", "cheapest"),
    ],
)
def test_the_first_that_may_answer_and_has_the_time(
    objects: int, barred: str, variant: str, why: str, cause: str | None
) -> None:
    plan = Decision("large", ladder=LADDER).chosen_for(objects, lambda model: model != barred)
    assert (plan.variant, plan.why, plan.cause) == (variant, why, cause)
    assert plan.proving == ({barred} if barred else set())


def test_a_decision_is_settled_anew_when_fewer_are_left() -> None:
    plan = Decision("large", ladder=LADDER, hurried=True).chosen_for(9, every)
    assert (plan.variant, plan.objects) == ("small", 9)
    assert plan.chosen_for(9, every) is plan
    plan = plan.chosen_for(2, every)
    assert (plan.variant, plan.objects) == ("large", 2)
    assert plan.why == "frames wait behind it; has time for 3 objects, 2 to look at"


def test_without_a_ladder_nothing_is_chosen() -> None:
    plan = Decision("only", why="first listed")
    assert plan.chosen_for(100, every) is plan


def test_where_nobody_may_answer_the_decision_stays() -> None:
    plan = Decision("large", ladder=LADDER)
    assert plan.chosen_for(1, lambda model: False) == replace(plan, objects=1)
    assert not plan.fits(1, lambda model: False)


def paying(**paid: float) -> Decision:
    return Decision("large", ladder=[rung._replace(paid=paid.get(rung.model, rung.paid)) for rung in LADDER])


@pytest.mark.parametrize(
    ("plan", "objects", "barred", "variant", "why", "unproven"),
    [
        (paying(large=2), 2, "", "large", "has time for 3 objects, 2 to look at", False),
        (paying(large=1), 2, "", "middle", "the budget pays large for 1 objects, 2 to look at", False),
        (paying(large=0, middle=0), 1, "", "small", "the budget pays middle for 0 objects, 1 to look at", False),
        (paying(large=0), 9, "", "small", "has time for 40 objects, 9 to look at; middle for 8", False),
        (paying(large=0, middle=0), 41, "", "small", "no model has time for 41: the fastest answers", False),
        (paying(large=0), 1, "middle small", "middle", "the budget pays large for 0 objects, 1 to look at", True),
        (paying(large=0, middle=0, small=0), 1, "small", "large", "has time for 3 objects, 1 to look at", False),
    ],
)
def test_a_model_that_a_budget_does_not_pay_for_is_passed_over_for_an_unproven_one_at_last(
    plan: Decision, objects: int, barred: str, variant: str, why: str, unproven: bool
) -> None:
    found = plan.chosen_for(objects, lambda model: model not in barred.split())
    assert (found.variant, found.why, found.unproven) == (variant, why, unproven)
    assert found.proving == set(barred.split()) - {variant}
