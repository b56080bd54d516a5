"""How many audits a proof takes at least."""

from __future__ import annotations

import pytest

from cache_adapt.audit.confidence import against
from cache_adapt.audit.verdict import least_audits


@pytest.mark.parametrize("accuracy", [0.0, 0.37, 0.8, 0.9, 0.95, 0.987, 0.999])
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_so_many_audits_without_a_disagreement_prove_it_and_one_less_does_not(accuracy: float, error: float) -> None:
    least = least_audits(accuracy, error)
    assert against(0, (1 - accuracy) * least, error)
    assert not against(0, (1 - accuracy) * (least - 1), error)


def test_an_accuracy_next_to_one_takes_no_longer_to_tell() -> None:
    assert least_audits(1 - 1e-9) == pytest.approx(1e5 * least_audits(1 - 1e-4), rel=1e-3)
