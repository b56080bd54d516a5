"""The figures of a recogniser count crops that it has not learnt from, and claim nothing where nothing was named."""

from __future__ import annotations

import numpy as np
import pytest

from specialization.kit.report import HeldOut


def test_figures_count_what_was_held_out() -> None:
    truth = np.array([0, 0, 0, 1])
    held = HeldOut(("car", "bus"), truth, np.array([0, 0, 1, 1]), np.array([0, -1, 1, 1]), "track")
    assert (held.accuracy, held.balanced, held.coverage) == pytest.approx((3 / 4, 5 / 6, 3 / 4))
    assert held.right == pytest.approx(2 / 3)
    assert held.confusion().tolist() == [[1, 1, 1], [0, 1, 0]]
    figures = {each.metric: (each.value, each.n) for each in held.figures("crops")}
    assert figures["right of named"] == (0.6667, 3)
    assert figures["recall of bus"] == (1.0, 1)


def test_where_nothing_is_named_no_share_of_it_is_claimed() -> None:
    held = HeldOut(("car", "bus"), np.array([0, 1]), np.array([0, 1]), np.array([-1, -1]), "run")
    assert held.right == 0
    assert "right of named" not in {each.metric for each in held.figures("crops")}
