"""A policy that does not fit its request is refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.errors import ModelError

CUTS = ("early", "late")


class Nobody:
    def look(self, features: NDArray[np.float32]) -> ExitResult:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (RowPolicy(leaves=np.ones(2, bool)), "told by 3 bools, not by bool 2"),
        (RowPolicy(leaves=np.ones((3, 1), bool)), "told by 3 bools, not by bool 3 × 1"),
        (RowPolicy(leaves=np.ones(3, np.int32)), "told by 3 bools, not by int32 3"),
        (RowPolicy(ExitSet({"late": Nobody(), "never": Nobody()}, 2)), "'net' has no cut at 'never'"),
    ],
)
def test_a_damaged_policy_is_refused(policy: RowPolicy, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        policy.check("net", CUTS, 3)


def test_a_policy_may_name_some_of_the_cuts_and_as_many_rows_as_there_are() -> None:
    RowPolicy().check("net", CUTS, 3)
    RowPolicy(ExitSet({"late": Nobody()}, 2), np.array([True, False, True])).check("net", CUTS, 3)


def test_a_result_is_the_same_after_it_was_a_list() -> None:
    rows = np.arange(2)
    result = ExitResult(np.ones((2, 3)), rows.astype(np.int32), rows > 0, np.zeros((2, 5), np.float32), [np.eye(2)])
    again = ExitResult.of(result.as_list())
    assert all(one is other for one, other in zip(result.as_list(), again.as_list(), strict=True))
