"""An audit as it is published."""

from __future__ import annotations

import pytest

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import Rule
from operators.audits.audit_report import Audited, node_plan
from operators.wire.schema import NodePlan

AUDITED = Audited("type", "variant", "big", ["small"])


def plan(*audits: tuple[bool, bool | None]) -> NodePlan:
    """A shortcut in the shadow after audits: whether both agreed, and whether a name was lost."""
    audit = Audit(Rule(0.5))
    for agrees, lost in audits:
        ticket = audit.in_shadow()
        assert ticket is not None
        audit.by_oracle()
        audit.tell(ticket, agrees, lost)
    return node_plan(AUDITED, audit)


def test_before_anything_was_asked_nothing_is_known() -> None:
    found = plan()
    assert (found.phase, found.answers, found.shortcut_share) == ("shadow", 0, 0.0)
    assert (found.agreement.found, found.agreement.sequential.low, found.agreement.sequential.high) == (None, 0.0, 1.0)
    assert found.names_lost is None


def test_agreement_hides_lost_names_and_so_they_are_told_apart() -> None:
    found = plan(*[(True, None)] * 3, (False, True), (True, False))
    assert (found.agreement.found, found.agreement.audits) == (0.8, 5)
    assert found.names_lost is not None
    assert (found.names_lost.found, found.names_lost.names, found.names_lost.lost) == (0.5, 2, 1)


@pytest.mark.parametrize(
    ("lost", "names", "low", "high"),
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.445), (10, 10, 0.6915, 1.0)],
)
def test_the_share_of_lost_names_has_the_interval_of_clopper_and_pearson(
    lost: int, names: int, low: float, high: float
) -> None:
    """The textbook's bounds at 95 %."""
    audits = [(number >= lost, number < lost) for number in range(names)]
    audit = Audit(Rule(0.02))  # whatever it finds, it is not switched off
    for agrees, gone in sorted(audits, reverse=True):
        audit.tell(audit.in_shadow() or audit.by_shortcut(0.0) or pytest.fail("off"), agrees, gone)
    found = node_plan(AUDITED, audit).names_lost
    assert found is not None
    assert (found.names, found.lost) == (names, lost)
    assert (found.exact.low, found.exact.high) == (low, high)


def test_names_without_a_name_to_lose_are_not_counted() -> None:
    assert plan((True, None), (False, None)).names_lost is None
