"""The account of specialization on video: what is compared with what."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.weg_video import agreement, headline

BOX, OTHER_BOX = {"x_min": 0.1}, {"x_min": 0.2}


def test_agreement_is_counted_object_by_object() -> None:
    oracle = {(0, 0): (BOX, "car"), (0, 1): (OTHER_BOX, "bike"), (1, 0): (BOX, "car"), (2, 0): (BOX, "car")}
    assert agreement(oracle, oracle) == 1.0
    assert agreement({**oracle, (0, 1): (OTHER_BOX, "car")}, oracle) == 0.75


@pytest.mark.parametrize("other", [{}, {(0, 0): (OTHER_BOX, "car")}, {(0, 1): (BOX, "car")}])
def test_other_objects_cannot_be_compared(other: Any) -> None:
    with pytest.raises(ValueError, match="different objects"):
        agreement(other, {(0, 0): (BOX, "car")})


def test_a_clip_without_objects_agrees() -> None:
    assert agreement({}, {}) == 1.0


def test_the_headline_is_the_median_of_the_rounds() -> None:
    rows = [
        {"clip": "a", "mode": mode, "recognition_speedup": speedup, "cpu_speedup": 1 + speedup / 50, "agreement": 0.99}
        for mode, factor in (("oracle", 0), ("specialised", 2))
        for speedup in (factor * 1.0, factor * 5.0, factor * 2.0)
    ]
    found = headline(rows)["specialised"]
    mean = found.pop("cpu_mean")
    assert found == {"recognition": {"a": 4.0}, "cpu": {"a": 1.08}, "agreement": {"a": 0.99}}
    assert mean["low"] < mean["mean"] < mean["high"]
