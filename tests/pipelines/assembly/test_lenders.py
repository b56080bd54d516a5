"""Which network of a node lends its cuts, where the oracle is on another machine."""

from __future__ import annotations

import pytest

from operators.audits.roles import Roles
from pipelines.assembly.node_words import lending, lent_identity, runs_elsewhere
from serving.catalogue.lookup import SHIPPED, Catalogue

KNOWN = Catalogue([SHIPPED])
FAR = "vehicle-type on gpu"


@pytest.mark.parametrize(
    ("listed", "lender"),
    [
        ([], None),
        (["vehicle-type-compact on cpu"], None),
        (["vehicle-type@openvino-int8"], None),
        (["vehicle-type"], "vehicle-type"),
        (["vehicle-type", "vehicle-type-compact", "street-kind on gpu"], "vehicle-type-compact"),
    ],
)
def test_the_smallest_whole_network_of_this_machine_lends(listed: list[str], lender: str | None) -> None:
    roles = Roles((FAR, *listed), FAR, frozenset(listed))
    found = lending(roles, KNOWN)
    assert (None if found is None else (found.model, found.entry.card.name)) == (lender and (lender, lender))


def test_exits_are_others_for_another_lender_or_other_words() -> None:
    one, other = KNOWN.find("vehicle-type").card, KNOWN.find("vehicle-type-compact").card
    assert len({lent_identity(one, other), lent_identity(other, one), one.identity, other.identity}) == 4


def test_a_model_that_another_machine_may_answer_for_names_it() -> None:
    assert [runs_elsewhere(each) for each in (FAR, "vehicle-type on auto", "vehicle-type")] == [True, True, False]
