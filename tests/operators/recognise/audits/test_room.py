"""What cannot be paid, or has no room, is refused before anything is drawn; what was drawn is seen through."""

from __future__ import annotations

import pytest

from cache_adapt.audit.state import AuditState
from learning.budget import Budget
from operators import background as backlog
from operators.recognise.audits import trials
from operators.recognise.objects.look_rule import LOOK_RULE
from tests.operators.recognise.audits.street import EVERY, Street, served


def nothing() -> Budget:
    return Budget(0.05, lambda: 0.0)


async def test_what_cannot_be_paid_is_not_done_in_the_shadow() -> None:
    street = Street(budget=nothing())
    await street.pass_by(7)
    await street.empty()
    assert street.asked("small", background=True) == 0
    assert street.node.plans() == {}


async def test_what_can_never_be_audited_does_not_answer() -> None:
    street = Street(EVERY, known=served(), budget=Budget(0.0, lambda: 1e6))
    await street.pass_by(7, frames=30)
    assert street.asked("small", background=False) == 0


async def test_objects_of_which_no_audit_can_be_paid_are_told() -> None:
    street = Street(EVERY, known=served(), budget=nothing())
    for track in (7, 8):
        await street.pass_by(track, frames=30)
    await street.empty()
    assert (street.plan.audits, street.plan.given_up, street.plan.unsampled) == (0, 0, 2)
    assert street.asked("big", background=True) == 0


async def test_a_full_backlog_refuses_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_WAITING", 0)
    street = Street(EVERY, known=served())
    await street.pass_by(7)
    await street.empty()
    assert (street.plan.audits, street.plan.given_up, street.plan.unsampled) == (0, 0, 1)


async def test_no_more_trials_are_opened_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "MOST_TRIALS", 2)
    street = Street(EVERY, known=served())
    street.sure = {"small": 0.3, "big": 0.3}  # three looks until a conclusion
    await street.frame([1, 2, 3])
    assert street.plan.unsampled == 1
    for _ in range(20):
        await street.frame([1, 2, 3])
    await street.empty()
    assert (street.plan.audits, street.plan.unsampled, street.plan.answers) == (2, 1, 3)


@pytest.mark.parametrize(("known", "second"), [(None, "small"), (served(), "big")])
async def test_an_object_is_drawn_where_all_its_looks_can_be_paid_and_then_all_are_made(
    known: AuditState | None, second: str
) -> None:
    used_s = 100.0
    budget = Budget(0.01, lambda: used_s)
    street = Street(EVERY, known=known, budget=budget)
    street.sure = {"small": 0.3, "big": 0.3}
    street.engine.costs_s[second] = 0.25
    await street.frame([7])
    budget.spend("training", 50.0)
    await street.pass_by(7, frames=20)
    await street.pass_by(8, frames=20)
    await street.empty()
    assert (street.plan.audits, street.asked(second, background=True)) == (1, LOOK_RULE.most_looks)
